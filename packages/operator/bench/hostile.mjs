// npm run bench:hostile: what an operator costs and how it serves its neighbours while the administrator of one namespace fills it with objects that are as
// large as the API server takes them. A real API server, the real process with the limits of `handover install`. Names on the command line run those alone.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { loadavg } from 'node:os';
import { setTimeout as pause } from 'node:timers/promises';
import { crds, NODE_OPTIONS } from '@handover/install';
import {
  configMaps,
  connect,
  customResourceDefinitions,
  kindOf,
  namespaces,
  pods,
  secrets,
  services,
} from '@handover/kube';
import { RESOURCE_KINDS } from '@handover/operator';
import { freePort, PROGRAM } from '@handover/test-api-server';
import { startCluster } from '@handover/test-cluster';

const BOUNDS = { rssMiB: 220, livezMs: 1_000, leafMs: 2_000 };
/** How long each attack is watched, before and after a restart. */
const WATCH_MS = 8_000;
const EVIL = 'evil';
const MIB = 1_024 * 1_024;

const say = (text) => process.stderr.write(`${text}\n`);
const long = (bytes) => 'x'.repeat(bytes);
const base64 = (value) => Buffer.from(value).toString('base64');
const many = (count, make) => Array.from({ length: count }, (_, index) => make(index));
const within = { namespace: EVIL };

const CERT_MANAGER = 'cert-manager.io/v1';
const requests = kindOf(CERT_MANAGER, 'certificaterequests', 'CertificateRequest');
const certificates = kindOf(CERT_MANAGER, 'certificates', 'Certificate');
const bundles = kindOf('trust.cert-manager.io/v1alpha1', 'bundles', 'Bundle', false);
const crd = ({ group, version, plural, kind, namespaced }) => ({
  metadata: { name: `${plural}.${group}` },
  spec: {
    group,
    scope: namespaced ? 'Namespaced' : 'Cluster',
    names: { plural, singular: kind.toLowerCase(), kind },
    versions: [
      {
        name: version,
        served: true,
        storage: true,
        subresources: { status: {} },
        schema: { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } },
      },
    ],
  },
});

/** DER of a certificate without names: the smallest that can be read. */
const der = (tag, ...parts) => {
  const body = Buffer.concat(parts);
  const length = body.length < 128 ? [body.length] : [0x81, body.length];
  return Buffer.concat([Buffer.from([tag, ...length]), body]);
};
const tiny = (serial) => {
  const algorithm = der(0x30, der(0x06, Buffer.from([0x2b, 0x65, 0x70])));
  const none = der(0x30);
  const time = (text) => der(0x17, Buffer.from(text));
  const tbs = der(
    0x30,
    der(0x02, Buffer.from([1, serial >> 8, serial & 255])),
    algorithm,
    none,
    der(0x30, time('300101000000Z'), time('490101000000Z')),
    none,
    der(0x30, algorithm, der(0x03, Buffer.alloc(33))),
  );
  const whole = der(0x30, tbs, algorithm, der(0x03, Buffer.from([0])));
  return `-----BEGIN CERTIFICATE-----\n${whole
    .toString('base64')
    .replace(/(.{64})/g, '$1\n')
    .trim()}\n-----END CERTIFICATE-----\n`;
};
const tinyBundle = (bytes, seed) => {
  const one = tiny(0).length;
  return many(Math.floor(bytes / one), (index) => tiny((seed * 331 + index) & 0x7fff)).join('');
};

const owners = (count) =>
  many(count, (index) => ({
    apiVersion: CERT_MANAGER,
    kind: 'Certificate',
    name: `c${index}`,
    uid: `u${index}`.padEnd(40, 'u'),
  }));
const own = `${CERT_MANAGER.split('/')[0]}/certificate-name`;

/** The seven kinds of fields that were kept whole, the lists, and what is parsed. */
const ATTACKS = {
  'owner references of CertificateRequests': {
    kind: requests,
    objects: () =>
      many(107, (index) => ({
        metadata: { name: `r${index}`, ...within, ownerReferences: owners(9_000) },
        spec: { request: 'eA==', issuerRef: { group: 'handover.dev', kind: 'Authority', name: 'prod/mesh' } },
      })),
  },
  'annotations of Certificates': {
    kind: certificates,
    objects: () =>
      many(300, (index) => ({
        metadata: {
          name: `c${index}`,
          ...within,
          annotations: Object.fromEntries(many(480, (one) => [`handover.dev/x${one}`, long(500)])),
        },
        spec: {
          secretName: `s${index}`,
          issuerRef: { group: 'handover.dev', kind: 'Authority', name: 'prod/mesh' },
        },
      })),
  },
  'selectors of Services': {
    kind: services,
    objects: () =>
      many(120, (index) => ({
        metadata: { name: `s${index}`, ...within },
        spec: {
          ports: [{ port: 1 }],
          clusterIP: 'None',
          selector: Object.fromEntries(many(9_000, (one) => [`k${one}`.padEnd(60, 'k'), long(50)])),
        },
      })),
  },
  'projected sources of pods': {
    kind: pods,
    objects: () =>
      many(100, (index) => ({
        metadata: { name: `p${index}`, ...within },
        spec: {
          automountServiceAccountToken: false,
          containers: [{ name: 'main', image: 'none', volumeMounts: [{ name: 'v', mountPath: '/v' }] }],
          volumes: [
            {
              name: 'v',
              projected: {
                sources: many(6_000, (one) => ({
                  secret: { name: `s${one}`.padEnd(60, 's'), items: [{ key: `k${one}`, path: `p${one}` }] },
                })),
              },
            },
          ],
        },
      })),
  },
  'owner uids of labelled ConfigMaps': {
    kind: configMaps,
    objects: () =>
      many(107, (index) => ({
        metadata: {
          name: `t${index}`,
          ...within,
          labels: { 'trust.cert-manager.io/bundle': `t${index}` },
          ownerReferences: [{ apiVersion: 'v1', kind: 'Pod', name: 'x', uid: long(MIB), controller: true }],
        },
      })),
  },
  'names in annotations of Secrets': {
    kind: secrets,
    objects: () =>
      many(400, (index) => ({
        metadata: { name: `n${index}`, ...within, annotations: { [own]: long(250_000) } },
      })),
  },
  'labelled Secrets': {
    kind: secrets,
    objects: () => [
      ...many(3_000, (index) => ({
        metadata: { name: `m${index}`, ...within, labels: { 'handover.dev/managed': 'true' } },
        data: { 'tls.crt': base64(long(16_000)) },
      })),
      ...many(40, (index) => ({
        metadata: { name: `l${index}`, ...within, labels: { 'handover.dev/managed': 'true' } },
        data: { 'tls.crt': base64(long(700_000)) },
      })),
    ],
  },
  '58 Secrets of 1 MB in a list': {
    kind: secrets,
    objects: () =>
      many(58, (index) => ({
        metadata: { name: `b${index}`, ...within, labels: { 'controller.cert-manager.io/fao': 'true' } },
        data: { 'tls.crt': base64(long(50_000)), junk: base64(long(700_000)) },
      })),
  },
  '700 Leaves in a list': {
    kind: RESOURCE_KINDS.Leaf,
    objects: () =>
      many(700, (index) => ({
        metadata: { name: `l${index}`, ...within, annotations: { a: long(250_000) } },
        spec: { authority: 'prod/none', secretName: `l${index}`, dnsNames: [`l${index}.evil.svc`] },
      })),
  },
  'certificates of 80 bytes': {
    kind: secrets,
    objects: () =>
      many(150, (index) => ({
        metadata: { name: `c${index}`, ...within, labels: { 'controller.cert-manager.io/fao': 'true' } },
        data: {
          'tls.crt': base64(tinyBundle(62_000, index)),
          'ca.crt': base64(tinyBundle(62_000, index + 500)),
        },
      })),
  },
};

async function all(items, each) {
  let next = 0;
  const worker = async () => {
    while (next < items.length) await each(items[next++]);
  };
  // One after the other: the API server shares this machine's cores.
  await Promise.all(many(1, worker));
}

const kibOf = (pid, field) =>
  Number(
    new RegExp(`^${field}:\\s+(\\d+) kB$`, 'm').exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0,
  );
const mibOf = (pid, field) => kibOf(pid, field) / 1_024;

class Running {
  constructor(cluster, ports) {
    this.port = ports[0];
    this.errors = [];
    this.child = spawn(
      process.execPath,
      [
        PROGRAM,
        ...['operator', '--kubeconfig', cluster.kubeconfig, '--namespace', 'handover-system'],
        ...['--compat', 'trust-manager,cainjector,service-ca', '--health-address', `127.0.0.1:${ports[0]}`],
        ...['--dashboard-address', `127.0.0.1:${ports[1]}`],
      ],
      { stdio: ['ignore', 'pipe', 'pipe'], env: { ...process.env, NODE_OPTIONS } },
    );
    for (const stream of [this.child.stdout, this.child.stderr])
      stream.on('data', (chunk) =>
        this.errors.push(
          ...String(chunk)
            .split('\n')
            .filter((line) => /OVER_SHARE|FATAL/.test(line)),
        ),
      );
    const end = () => this.child.kill('SIGKILL');
    process.once('exit', end);
    this.child.once('exit', () => process.off('exit', end));
    this.over = once(this.child, 'exit');
  }

  get isDead() {
    return this.child.exitCode !== null || this.child.signalCode !== null;
  }

  async asks(path) {
    const began = performance.now();
    const signal = AbortSignal.timeout(20_000);
    const answer = await fetch(`http://127.0.0.1:${this.port}${path}`, { signal }).catch(() => undefined);
    await answer?.arrayBuffer().catch(() => undefined);
    return { status: answer?.status, ms: performance.now() - began };
  }

  async ready() {
    const began = performance.now();
    while (performance.now() - began < 120_000 && !this.isDead) {
      if ((await this.asks('/readyz')).status === 200) return true;
      await pause(100);
    }
    return false;
  }

  async stop() {
    if (!this.isDead) this.child.kill('SIGTERM');
    const hung = setTimeout(() => this.child.kill('SIGKILL'), 10_000);
    await this.over;
    clearTimeout(hung);
  }
}

let leaves = 0;
/** A neighbour's new Leaf, until its Secret is there. */
async function leafMs(kube) {
  const name = `leaf-${leaves++}`;
  const began = performance.now();
  await kube.create(RESOURCE_KINDS.Leaf, {
    apiVersion: 'handover.dev/v1alpha1',
    kind: 'Leaf',
    metadata: { name, namespace: 'prod', annotations: { 'handover.dev/used-by': 'nobody' } },
    spec: { authority: 'mesh', secretName: name, dnsNames: [`${name}.prod.svc`] },
  });
  while (performance.now() - began < 30_000) {
    if ((await kube.get(secrets, { namespace: 'prod', name }))?.data?.['tls.crt'] !== undefined)
      return performance.now() - began;
    await pause(20);
  }
  return Number.POSITIVE_INFINITY;
}

/** Until `work` is over, and no shorter than WATCH_MS. */
async function watch(operator, kube, work) {
  const seen = { livezMs: 0, leafMs: 0, most: 0, end: 0, died: false };
  let over = false;
  const livez = (async () => {
    // A process that has just begun does not listen yet.
    while (!operator.isDead && (await operator.asks('/livez')).status !== 200) await pause(20);
    while (!over && !operator.isDead) {
      const { status, ms } = await operator.asks('/livez');
      seen.livezMs = Math.max(seen.livezMs, status === 200 ? ms : Number.POSITIVE_INFINITY);
      if (!operator.isDead) {
        seen.most = mibOf(operator.child.pid, 'VmHWM') || seen.most;
        seen.end = mibOf(operator.child.pid, 'VmRSS') || seen.end;
      }
      await pause(50);
    }
  })();
  const neighbour = (async () => {
    await operator.ready();
    while (!over && !operator.isDead) {
      seen.leafMs = Math.max(seen.leafMs, await leafMs(kube));
      await pause(500);
    }
  })();
  await Promise.all([work(), pause(WATCH_MS)]);
  over = true;
  await Promise.all([livez, neighbour]);
  seen.died = operator.isDead;
  return seen;
}

const cluster = await startCluster({
  apiServerFlags: [
    '--disable-admission-plugins=ServiceAccount',
    '--runtime-config=api/all=true',
    '--feature-gates=PodCertificateRequest=true',
  ],
});
const end = new AbortController();
const kube = connect(
  {
    server: cluster.url,
    namespace: 'default',
    tls: {
      ca: { file: cluster.caFile },
      cert: { file: cluster.clientCert },
      key: { file: cluster.clientKey },
    },
    auth: {},
  },
  { signal: end.signal, rate: false, userAgent: 'bench' },
);
const rows = [];
const row = (name, when, seen) => {
  rows.push({ name, when, ...seen });
  const { most, end: rss, livezMs, leafMs: leaf, died } = seen;
  say(
    `${name} · ${when}: most ${most.toFixed(0)} MiB, now ${rss.toFixed(0)} MiB, /livez ${livezMs.toFixed(0)} ms, leaf ${leaf.toFixed(0)} ms${died ? ', DIED' : ''}`,
  );
};
try {
  await cluster.apply(...crds());
  for (const kind of [requests, certificates, bundles])
    await kube.create(customResourceDefinitions, crd(kind));
  await cluster.kubectl('wait', '--for=condition=Established', 'crd', '--all', '--timeout=60s');
  for (const name of ['handover-system', 'cert-manager', 'prod', EVIL])
    await kube.create(namespaces, { metadata: { name } });
  await kube.create(RESOURCE_KINDS.Authority, {
    apiVersion: 'handover.dev/v1alpha1',
    kind: 'Authority',
    metadata: { name: 'mesh', namespace: 'prod' },
    spec: { rotation: { reloadWithin: '5s' }, issueTo: { namespaceSelector: {} }, podCertificates: {} },
  });
  const ports = [await freePort(), await freePort()];
  const wanted = process.argv.slice(2);
  const chosen = Object.entries(ATTACKS).filter(
    ([name]) => wanted.length === 0 || wanted.some((part) => name.includes(part)),
  );
  let operator = new Running(cluster, ports);
  if (!(await operator.ready())) throw new Error('the operator did not get ready');
  row('none', 'at rest', await watch(operator, kube, async () => {}));
  await operator.stop();
  for (const [name, { kind, objects: make }] of chosen) {
    const objects = make();
    operator = new Running(cluster, ports);
    await operator.ready();
    let refused = 0;
    const write = () =>
      all(objects, (object) =>
        kube.create(kind, object, within).catch((error) => {
          if (refused++ === 0) say(`${name}: ${error.message.slice(0, 300)}`);
        }),
      );
    row(name, 'while it is written', await watch(operator, kube, write));
    const told = operator.errors.length;
    await operator.stop();
    operator = new Running(cluster, ports);
    const isReady = operator.ready();
    row(name, 'after a restart', await watch(operator, kube, () => isReady));
    say(
      `  ${objects.length - refused} objects; named in ${told} and ${operator.errors.length} lines of the log`,
    );
    await operator.stop();
    await cluster.kubectl(
      'delete',
      kind.plural,
      '--all',
      '--namespace',
      EVIL,
      '--wait=false',
      '--force',
      '--grace-period=0',
    );
  }
  const show = (value) => (Number.isFinite(value) ? value.toFixed(0) : 'none');
  console.log(
    `\nload ${loadavg()[0].toFixed(1)}, Node ${process.version}\n\n| attack | | most RSS, MiB | RSS at the end | /livez at most, ms | neighbour's leaf at most, ms | |\n|---|---|---|---|---|---|---|`,
  );
  for (const { name, when, most, end: rss, livezMs, leafMs: leaf, died } of rows)
    console.log(
      `| ${name} | ${when} | ${show(most)} | ${show(rss)} | ${show(livezMs)} | ${show(leaf)} | ${died ? 'died' : ''} |`,
    );
  const missed = rows.filter(
    ({ most, livezMs, leafMs: leaf, died }) =>
      died || most > BOUNDS.rssMiB || livezMs > BOUNDS.livezMs || leaf > BOUNDS.leafMs,
  );
  console.log(
    missed.length === 0
      ? `\nall bounds hold: ${JSON.stringify(BOUNDS)}`
      : `\n${missed.length} bounds were missed`,
  );
  process.exitCode = missed.length === 0 ? 0 : 1;
} finally {
  end.abort();
  await cluster.stop();
}
