// An idle `handover operator -f` on a real API server: how many requests it makes, by the API server's audit log, and how many
// of them are writes. Then one drift of each field: how long it lasts, and how many writes repair it.
// Run after a build:
//   node packages/operator/test/show/quiet.mjs [minutes]
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { loadavg } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { startCluster } from '@handover/test-cluster';

const minutes = Number(process.argv[2] ?? '10');
const BIN = fileURLToPath(new URL('../../../cli/bin/handover.js', import.meta.url));
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const FIELDS = {
  apiservice: ['v1alpha1.data.packaging.carvel.dev', '/spec/caBundle'],
  validatingwebhookconfiguration: ['packaging-check', '/webhooks/0/clientConfig/caBundle'],
  mutatingwebhookconfiguration: ['packaging-change', '/webhooks/0/clientConfig/caBundle'],
};
const KINDS = {
  apiservice: 'APIService',
  validatingwebhookconfiguration: 'ValidatingWebhookConfiguration',
  mutatingwebhookconfiguration: 'MutatingWebhookConfiguration',
};

const freePort = async () => {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address();
  server.close();
  await once(server, 'close');
  return port;
};

const service = { name: 'packaging-api', namespace: 'packaging' };
const webhooks = (name) => [
  {
    name,
    clientConfig: { service },
    admissionReviewVersions: ['v1'],
    sideEffects: 'None',
    failurePolicy: 'Ignore',
    rules: [{ apiGroups: ['x.example.com'], apiVersions: ['v1'], operations: ['CREATE'], resources: ['x'] }],
  },
];
const admission = { apiVersion: 'admissionregistration.k8s.io/v1' };

const cluster = await startCluster({ audit: 'Metadata', say: () => undefined });
let child;
try {
  await cluster.apply({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'packaging' } });
  await cluster.apply(
    {
      apiVersion: 'apiregistration.k8s.io/v1',
      kind: 'APIService',
      metadata: { name: FIELDS.apiservice[0] },
      spec: {
        group: 'data.packaging.carvel.dev',
        version: 'v1alpha1',
        groupPriorityMinimum: 1000,
        versionPriority: 15,
        service,
      },
    },
    {
      ...admission,
      kind: KINDS.validatingwebhookconfiguration,
      metadata: { name: 'packaging-check' },
      webhooks: webhooks('check.example.com'),
    },
    {
      ...admission,
      kind: KINDS.mutatingwebhookconfiguration,
      metadata: { name: 'packaging-change' },
      webhooks: webhooks('change.example.com'),
    },
  );
  const file = join(cluster.directory, 'packaging.yaml');
  const ours = (kind, metadata, spec) =>
    JSON.stringify({ apiVersion: 'handover.dev/v1alpha1', kind, metadata, spec });
  writeFileSync(
    file,
    [
      ours('Authority', { name: 'packaging', namespace: 'packaging' }, {}),
      ours(
        'Leaf',
        { name: 'packaging-api', namespace: 'packaging' },
        { authority: 'packaging', dnsNames: ['packaging-api.packaging.svc'] },
      ),
      ours(
        'TrustBundle',
        { name: 'packaging' },
        {
          sources: [{ authority: 'packaging/packaging' }],
          targets: Object.entries(KINDS).map(([key, kind]) => ({ inject: { kind, name: FIELDS[key][0] } })),
        },
      ),
    ].join('\n---\n'),
  );
  const health = `127.0.0.1:${await freePort()}`;
  child = spawn(
    process.execPath,
    [
      BIN,
      'operator',
      '-f',
      file,
      '--namespace',
      'packaging',
      '--kubeconfig',
      cluster.kubeconfig,
      '--health-address',
      health,
    ],
    { stdio: ['ignore', 'pipe', 'inherit'] },
  );
  const said = [];
  child.stdout.on('data', (chunk) => said.push(...String(chunk).split('\n').filter(Boolean)));
  for (;;) {
    const answer = await fetch(`http://${health}/readyz`).catch(() => undefined);
    if (answer?.status === 200) break;
    await pause(100);
  }
  await pause(3_000);

  const mine = () =>
    cluster
      .audit()
      .filter(({ userAgent, stage }) => userAgent?.startsWith('handover') && stage === 'RequestReceived');
  const all = () => cluster.audit().filter(({ userAgent }) => userAgent?.startsWith('handover'));
  const stageOf = mine().length > 0 ? mine : () => all().filter(({ stage }) => stage === 'ResponseComplete');
  const isWrite = ({ verb, requestURI }) =>
    !['get', 'list', 'watch'].includes(verb) && !requestURI.includes('/leases');
  const saidBefore = said.length;
  const before = stageOf().length;
  const began = Date.now();
  await pause(minutes * 60_000);
  const quiet = stageOf().slice(before);
  const counts = new Map();
  for (const { verb, requestURI } of quiet) {
    const key = `${verb} ${requestURI.split('?')[0]}`;
    counts.set(key, (counts.get(key) ?? 0) + 1);
  }
  const report = {
    minutes: Math.round((Date.now() - began) / 600) / 100,
    requests: quiet.length,
    writes: quiet.filter(isWrite).length,
    linesLogged: said.length - saidBefore,
    byPath: Object.fromEntries([...counts].sort((a, b) => b[1] - a[1])),
    drifts: [],
    load: loadavg().map((load) => Math.round(load * 10) / 10),
  };
  for (const [kind, [name, path]] of Object.entries(FIELDS)) {
    const read = async () => JSON.parse(await cluster.kubectl('get', kind, name, '-o', 'json'));
    const value = (object) =>
      path
        .split('/')
        .slice(1)
        .reduce((inner, key) => inner?.[key], object);
    const right = value(await read());
    const writes = stageOf().filter(isWrite).length;
    const patch = JSON.stringify([
      { op: 'replace', path, value: 'ZHVtbXktZGF0YS1zaW11bGF0aW5nLW9sZC1wb2Q=' },
    ]);
    await cluster.kubectl('patch', kind, name, '--type=json', '-p', patch);
    const at = performance.now();
    while (value(await read()) !== right) await pause(5);
    const ms = Math.round(performance.now() - at);
    await pause(3_000);
    console.error(
      stageOf()
        .filter(isWrite)
        .slice(writes)
        .map(
          ({ verb, requestURI, responseStatus, stage }) =>
            `${stage} ${verb} ${requestURI} ${responseStatus?.code}`,
        ),
      said.slice(-8),
    );
    report.drifts.push({ kind, msWithOneKubectlGet: ms, writes: stageOf().filter(isWrite).length - writes });
  }
  process.stdout.write(`${JSON.stringify(report, null, 2)}\n`);
} finally {
  child?.kill('SIGTERM');
  if (child !== undefined) await once(child, 'exit');
  await cluster.stop();
}
