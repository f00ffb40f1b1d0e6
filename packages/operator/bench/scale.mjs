// npm run bench:scale: one operator on a real API server with 1,000 namespaces, 5,000 Secrets and 10,000 pods.
// Prints its time until ready, its memory and its requests, and the same for one rotation.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { loadavg } from 'node:os';
import { setTimeout as pause } from 'node:timers/promises';
import { crds, NODE_OPTIONS } from '@handover/install';
import { connect, namespaces, pods, secrets } from '@handover/kube';
import { RESOURCE_KINDS } from '@handover/operator';
import { startCluster } from '@handover/test-cluster';

/** HANDOVER_SCALE=0.1 counts the requests of a tenth of it in a minute; its times and bounds mean nothing. */
const SCALE = Number(process.env.HANDOVER_SCALE ?? 1);
const NAMESPACES = 1_000 * SCALE;
const SECRETS = 5_000 * SCALE;
const PODS = 10_000 * SCALE;
const LEAVES = 200 * SCALE;
const BOUNDS = { rssMb: 250, seconds: 60, requestsPerSecond: 50 };
/** An Authority is Stable before the last status of a Leaf is written: at rest begins this much later. */
const SETTLE_SECONDS = 20;
const REST_SECONDS = 60;

const say = (text) => process.stderr.write(`${text}\n`);
const CLI = new URL('../../cli/bin/handover.js', import.meta.url).pathname;

async function all(count, each) {
  let next = 0;
  const worker = async () => {
    while (next < count) await each(next++);
  };
  await Promise.all(Array.from({ length: 24 }, worker));
}

const nameOf = (index) => `team-${index}`;

async function furnish(kube, cluster) {
  await cluster.apply(...crds());
  await cluster.kubectl('wait', '--for=condition=Established', 'crd', '--all', '--timeout=60s');
  await cluster.kubectl('create', 'namespace', 'handover-system');
  say(`making ${NAMESPACES} namespaces, ${SECRETS - LEAVES} Secrets and ${PODS} pods`);
  await all(NAMESPACES, (index) =>
    kube.create(namespaces, { metadata: { name: nameOf(index), labels: { trust: 'mesh' } } }),
  );
  const data = { blob: Buffer.alloc(1024, 7).toString('base64') };
  await all(SECRETS - LEAVES, (index) => {
    const namespace = nameOf(index % NAMESPACES);
    return kube.create(
      secrets,
      { metadata: { name: `own-${index}`, namespace }, type: 'Opaque', data },
      { namespace },
    );
  });
  await all(PODS, (index) => {
    const namespace = nameOf(index % NAMESPACES);
    const volume =
      index < 2 * NAMESPACES
        ? { name: 'v', configMap: { name: 'mesh-ca' } }
        : { name: 'v', secret: { secretName: `own-${index % (SECRETS - LEAVES)}` } };
    const spec = {
      containers: [{ name: 'main', image: 'none', volumeMounts: [{ name: 'v', mountPath: '/v' }] }],
      volumes: [volume],
      automountServiceAccountToken: false,
    };
    return kube.create(pods, { metadata: { name: `pod-${index}`, namespace }, spec }, { namespace });
  });
  const ours = (kind, name, spec, namespace) => ({
    apiVersion: 'handover.dev/v1alpha1',
    kind,
    metadata: { name, ...(namespace === undefined ? {} : { namespace }) },
    spec,
  });
  await kube.create(
    RESOURCE_KINDS.Authority,
    ours('Authority', 'mesh', { rotation: { reloadWithin: '5s' } }, 'default'),
    { namespace: 'default' },
  );
  await all(LEAVES, (index) => {
    const leaf = ours(
      'Leaf',
      `leaf-${index}`,
      { authority: 'mesh', secretName: `leaf-${index}`, dnsNames: [`l${index}.default.svc`] },
      'default',
    );
    leaf.metadata.annotations = { 'handover.dev/used-by': 'nobody' };
    return kube.create(RESOURCE_KINDS.Leaf, leaf, { namespace: 'default' });
  });
  await kube.create(
    RESOURCE_KINDS.TrustBundle,
    ours('TrustBundle', 'mesh', {
      sources: [{ authority: 'default/mesh' }],
      targets: [{ configMap: { name: 'mesh-ca', namespaceSelector: { matchLabels: { trust: 'mesh' } } } }],
    }),
  );
}

const rssOf = (pid) => {
  const found = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'));
  return Number(found?.[1] ?? 0) / 1024;
};

/** Memory during some work: the maximum, and the value at the end. */
async function watching(pid, until) {
  let most = 0;
  const begun = performance.now();
  for (;;) {
    most = Math.max(most, rssOf(pid));
    if (await until()) break;
    if (performance.now() - begun > 600_000) throw new Error('not within ten minutes');
    await pause(200);
  }
  return { seconds: (performance.now() - begun) / 1000, mostMb: most, endMb: rssOf(pid) };
}

const requestsSince = (cluster, since, until) => {
  const entries = cluster
    .audit()
    .filter(
      ({ userAgent, requestReceivedTimestamp: at }) =>
        userAgent === 'handover' && Date.parse(at) >= since && Date.parse(at) <= until,
    );
  // A watch has an entry when it begins and another when it ends.
  const seen = [...new Map(entries.map((entry) => [entry.auditID, entry])).values()];
  const bySecond = new Map();
  for (const { requestReceivedTimestamp: at } of seen) {
    const second = Math.floor(Date.parse(at) / 1000);
    bySecond.set(second, (bySecond.get(second) ?? 0) + 1);
  }
  const byKind = new Map();
  for (const { verb, objectRef } of seen) {
    const kind = [verb, objectRef?.resource, objectRef?.subresource].filter((word) => word).join(' ');
    byKind.set(kind, (byKind.get(kind) ?? 0) + 1);
  }
  return {
    kinds: [...byKind].sort(([, a], [, b]) => b - a).slice(0, 8),
    count: seen.length,
    perSecond: seen.length / Math.max(1, (until - since) / 1000),
    most: Math.max(0, ...bySecond.values()),
  };
};

// No controller runs here to create the ServiceAccount of each namespace.
const cluster = await startCluster({
  audit: 'Metadata',
  apiServerFlags: ['--disable-admission-plugins=ServiceAccount'],
});
const end = new AbortController();
const config = {
  server: cluster.url,
  namespace: 'default',
  tls: { ca: { file: cluster.caFile }, cert: { file: cluster.clientCert }, key: { file: cluster.clientKey } },
  auth: {},
};
const kube = connect(config, { signal: end.signal, rate: false, userAgent: 'bench' });
let failed = false;
try {
  await furnish(kube, cluster);
  const child = spawn(
    process.execPath,
    [
      CLI,
      'operator',
      '--kubeconfig',
      cluster.kubeconfig,
      '--namespace',
      'handover-system',
      '--health-address',
      '127.0.0.1:18099',
    ],
    {
      stdio: ['ignore', 'ignore', 'inherit'],
      // As the Deployment of `handover install` starts it.
      env: { ...process.env, NODE_OPTIONS },
    },
  );
  try {
    const isReady = async () => {
      const answer = await fetch('http://127.0.0.1:18099/readyz').catch(() => undefined);
      return answer?.status === 200;
    };
    const authority = async () =>
      (await kube.get(RESOURCE_KINDS.Authority, { namespace: 'default', name: 'mesh' })) ?? {};
    const begun = Date.now();
    const sync = await watching(
      child.pid,
      async () => (await isReady()) && (await authority()).status?.phase === 'Stable',
    );
    const synced = Date.now();
    await pause(SETTLE_SECONDS * 1_000);
    const settled = Date.now();
    await pause(REST_SECONDS * 1_000);
    const rest = requestsSince(cluster, settled, Date.now());
    await cluster.kubectl('annotate', 'authority/mesh', 'handover.dev/rotate=one');
    const rotationBegun = Date.now();
    const rotation = await watching(child.pid, async () => {
      const { status } = await authority();
      return (
        status?.phase === 'Stable' &&
        status.generations.length === 1 &&
        status.generations[0].generation === 2
      );
    });
    const done = Date.now();
    const rows = [
      ['first sync', sync, requestsSince(cluster, begun, synced)],
      ['one rotation', rotation, requestsSince(cluster, rotationBegun, done)],
    ];
    console.log(
      `\n| | seconds | most RSS | RSS at the end | requests | per second | most in a second |\n|---|---|---|---|---|---|---|`,
    );
    for (const [name, { seconds, mostMb, endMb }, { count, perSecond, most }] of rows)
      console.log(
        `| ${name} | ${seconds.toFixed(1)} | ${mostMb.toFixed(0)} MB | ${endMb.toFixed(0)} MB | ${count} | ${perSecond.toFixed(1)} | ${most} |`,
      );
    const quiet = [
      [`${SETTLE_SECONDS} s after the first sync`, undefined, requestsSince(cluster, synced, settled)],
      ['at rest', undefined, rest],
    ];
    for (const [name, , { kinds }] of [...rows, ...quiet])
      console.log(`\n${name}: ${kinds.map(([kind, count]) => `${count} ${kind}`).join(', ')}`);
    const size = JSON.stringify(await authority()).length;
    console.log(
      `\nat rest ${rest.count} requests in ${REST_SECONDS} s; the Authority object has ${size} bytes; load ${loadavg()[0].toFixed(1)}`,
    );
    failed =
      rows.some(
        ([, { mostMb }, { perSecond }]) => mostMb > BOUNDS.rssMb || perSecond > BOUNDS.requestsPerSecond,
      ) || sync.seconds > BOUNDS.seconds;
    console.log(failed ? 'a bound was missed' : `all bounds hold: ${JSON.stringify(BOUNDS)}`);
  } finally {
    child.kill('SIGTERM');
    await once(child, 'exit');
  }
} finally {
  end.abort();
  await cluster.stop();
}
process.exitCode = failed ? 1 : 0;
