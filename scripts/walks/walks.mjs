// The four walks: work that begins with one event and ends with one effect.
import { execFileSync } from 'node:child_process';
import { mkdirSync, renameSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { openCluster, startOperator } from './cluster.mjs';
import { HANDOVER, shortest } from './stage.mjs';

/** Until an operator that has begun to work is at rest. */
const REST_MS = 15_000;
const BETWEEN_MS = 5_000;

async function drift(stage) {
  const cluster = await openCluster(stage);
  const { call, ours } = cluster;
  const path = '/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations';
  const webhook = {
    name: 'check.prod.example',
    clientConfig: { service: { name: 'web', namespace: 'prod' } },
    sideEffects: 'None',
    admissionReviewVersions: ['v1'],
  };
  await call('POST', path, {
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: 'ValidatingWebhookConfiguration',
    metadata: { name: 'hook' },
    webhooks: [webhook],
  });
  const targets = [{ inject: { kind: 'ValidatingWebhookConfiguration', name: 'hook' } }];
  const spec = { sources: [{ authority: 'prod/mesh' }], targets };
  await call('POST', '/apis/handover.dev/v1alpha1/trustbundles', ours('TrustBundle', { name: 'hook' }, spec));
  const operator = startOperator(stage, cluster);
  const caBundle = async () => (await call('GET', `${path}/hook`)).webhooks[0].clientConfig.caBundle;
  const right = await stage.until(caBundle, 40, 'the first caBundle');
  await sleep(REST_MS);
  const wrong = [{ op: 'replace', path: '/webhooks/0/clientConfig/caBundle', value: 'Cg==' }];
  return shortest(5, async () => {
    const ran = await stage.walk(operator, async () => {
      await call('PATCH', `${path}/hook`, wrong, 'patch');
      await stage.until(async () => (await caBundle()) === right, 10, 'the repair');
    });
    await sleep(BETWEEN_MS);
    return ran;
  });
}

async function sign(stage) {
  const cluster = await openCluster(stage);
  const { call } = cluster;
  const operator = startOperator(stage, cluster);
  const path = '/apis/cert-manager.io/v1/namespaces/prod/certificaterequests';
  const csr = execFileSync(
    'openssl',
    [
      'req',
      '-new',
      '-newkey',
      'ec',
      '-pkeyopt',
      'ec_paramgen_curve:P-256',
      '-nodes',
      '-keyout',
      join(stage.folder, 'key'),
    ].concat(['-subj', '/CN=web.prod.svc', '-addext', 'subjectAltName=DNS:web.prod.svc']),
    { stdio: ['ignore', 'pipe', 'ignore'] },
  );
  const issuerRef = { group: 'handover.dev', kind: 'Authority', name: 'mesh' };
  let number = 0;
  const signed = async () => {
    const name = `web-${++number}`;
    await call('POST', path, {
      apiVersion: 'cert-manager.io/v1',
      kind: 'CertificateRequest',
      metadata: { name, namespace: 'prod' },
      spec: { issuerRef, request: csr.toString('base64') },
    });
    const conditions = [{ type: 'Approved', status: 'True' }];
    await call('PATCH', `${path}/${name}/status`, { status: { conditions } }, 'merge');
    const certificate = async () => (await call('GET', `${path}/${name}`)).status?.certificate;
    await stage.until(certificate, 40, 'a signed CertificateRequest');
  };
  await signed();
  await sleep(REST_MS);
  return shortest(3, async () => {
    const ran = await stage.walk(operator, signed);
    await sleep(BETWEEN_MS);
    return ran;
  });
}

const RESOURCES = `
apiVersion: handover.dev/v1alpha1
kind: Authority
metadata: { name: ca, namespace: default }
spec:
  rotation: { reloadWithin: 2s }
---
apiVersion: handover.dev/v1alpha1
kind: Leaf
metadata: { name: web, namespace: default }
spec: { authority: ca, dnsNames: [localhost] }
`;

async function rotate(stage) {
  const home = join(stage.folder, 'home');
  mkdirSync(home);
  writeFileSync(join(home, 'mesh.yaml'), RESOURCES);
  execFileSync(process.execPath, [HANDOVER, 'run', home, '--once'], { stdio: 'ignore' });
  const command = ['rotate', 'default/ca', '--home', `dir:${home}`, '--wait', '--timeout', '2m'];
  const program = stage.program(HANDOVER, ...command);
  program.child.stdout.resume();
  let said = '';
  program.child.stderr.on('data', (text) => {
    said += text;
  });
  await stage.until(() => said !== '', 20, 'the first line of the command');
  return stage.walk(program, () => sleep(1_000));
}

const CLIENT = `
import { readFileSync } from 'node:fs';
import https from 'node:https';
import { createInterface } from 'node:readline';
import { openTrust } from '@handover/runtime';

const [folder] = process.argv.slice(2);
const agent = (await openTrust(folder + '/volume/ca.crt')).httpsAgent();
const shown = (version) => ({
  cert: readFileSync(folder + '/' + version + '/ca.crt'),
  key: readFileSync(folder + '/' + version + '/key'),
});
const server = https.createServer(shown('v1'), (_, response) => response.end('ok')).listen(0, '127.0.0.1');
await new Promise((listening) => server.once('listening', listening));
const { port } = server.address();
const get = () =>
  new Promise((answered) => {
    https
      .get({ host: 'localhost', port, agent }, (response) => response.resume().on('end', () => answered('ok')))
      .on('error', (error) => answered(error.message));
  });
for await (const line of createInterface({ input: process.stdin })) {
  if (line === 'v2') server.setSecureContext(shown('v2'));
  console.log(line === 'get' ? await get() : 'ok');
}
`;

async function swap(stage) {
  const { folder } = stage;
  for (const version of ['v1', 'v2']) {
    const to = join(folder, version);
    mkdirSync(to);
    const key = ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes'];
    const of = ['-subj', `/CN=${version}`, '-addext', 'subjectAltName=DNS:localhost', '-days', '9'];
    const into = ['-keyout', join(to, 'key'), '-out', join(to, 'ca.crt')];
    execFileSync('openssl', [...key, ...of, ...into], { stdio: 'ignore' });
  }
  mkdirSync(join(folder, 'volume'));
  symlinkSync('../v1', join(folder, 'volume/..data'));
  symlinkSync('..data/ca.crt', join(folder, 'volume/ca.crt'));
  // Where the packages of this workspace are found.
  symlinkSync(new URL('../../node_modules', import.meta.url).pathname, join(folder, 'node_modules'));
  writeFileSync(join(folder, 'client.mjs'), CLIENT);
  const program = stage.program(join(folder, 'client.mjs'), folder);
  let said = '';
  program.child.stdout.on('data', (text) => {
    said += text;
  });
  const ask = async (line) => {
    said = '';
    program.child.stdin.write(`${line}\n`);
    const answer = await stage.until(() => said.endsWith('\n') && said.trim(), 10, `an answer to ${line}`);
    if (answer !== 'ok') throw new Error(`${line}: ${answer}`);
  };
  await ask('get');
  await ask('v2');
  return stage.walk(program, async () => {
    symlinkSync('../v2', join(folder, 'volume/..new'));
    renameSync(join(folder, 'volume/..new'), join(folder, 'volume/..data'));
    await sleep(400);
    await ask('get');
  });
}

export const WALKS = [
  {
    name: 'drift',
    title: 'A drifted caBundle is repaired',
    text: 'Someone overwrites the `caBundle` of a webhook. The operator, at rest before, puts it right.',
    walk: drift,
  },
  {
    name: 'sign',
    title: 'A CertificateRequest is signed',
    text: 'cert-manager asks for a leaf for a key of its own, and an approver has approved. The operator signs and writes the chain into the status.',
    walk: sign,
  },
  {
    name: 'rotate',
    title: '`handover rotate --wait` on a directory',
    text: 'With one Leaf and a `reloadWithin` of 2 s. One second of it, from the first line that the command prints: it waits for readers of the new bundle, and looks again and again.',
    walk: rotate,
  },
  {
    name: 'swap',
    title: 'A CA file is swapped under a running client',
    text: 'A volume is swapped as a kubelet does it. The next request of `httpsAgent()` reaches a server of the new CA.',
    walk: swap,
  },
];

export const read = (path) => readFileSync(path, 'utf8');
