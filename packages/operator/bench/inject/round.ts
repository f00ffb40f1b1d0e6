import { loadavg } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { crds } from '@handover/install';
import {
  configMaps,
  connect,
  customResourceDefinitions,
  type Kube,
  type KubeObject,
  type kindOf,
  mutatingWebhookConfigurations,
  namespaces,
  secrets,
  validatingWebhookConfigurations,
} from '@handover/kube';
import { RESOURCE_KINDS } from '@handover/operator';
import { type Cluster, makeCa, startCluster } from '@handover/test-cluster';
import type { Contender } from './contenders.ts';
import { certificateCrd, objectsOf, type Size } from './objects.ts';
import { cpuOf, Watched } from './process.ts';
import { Watcher } from './watcher.ts';

export interface Figures {
  readonly load: number;
  readonly firstMs: number;
  readonly changeMs: number;
  readonly driftMs: readonly number[];
  /** Drifts after which exactly the right bytes were restored. */
  readonly exact: number;
  readonly rss: number;
  readonly peak: number;
  readonly cpu: {
    readonly first: number;
    readonly change: number;
    readonly drift: number;
    readonly idle: number;
  };
  /** The same for the API server: the cost to other clients, independent of the machine's load. */
  readonly server: { readonly first: number; readonly change: number; readonly drift: number };
  readonly requests: {
    readonly first: number;
    readonly change: number;
    readonly drift: number;
    readonly idle: number;
  };
}

const KIND_OF: Readonly<Record<string, ReturnType<typeof kindOf>>> = {
  ValidatingWebhookConfiguration: validatingWebhookConfigurations,
  MutatingWebhookConfiguration: mutatingWebhookConfigurations,
  CustomResourceDefinition: customResourceDefinitions,
};
const LONG_MS = 900_000;
const IDLE_MS = 30_000;
const CONTENDER = 'bench-contender';

const inParallel = async <T>(
  items: Iterable<T>,
  limit: number,
  each: (item: T) => Promise<void>,
): Promise<void> => {
  const queue = items[Symbol.iterator]();
  const worker = async (): Promise<void> => {
    for (let next = queue.next(); next.done !== true; next = queue.next()) await each(next.value);
  };
  await Promise.all(Array.from({ length: limit }, worker));
};

const connectTo = (cluster: Cluster, signal: AbortSignal): Kube =>
  connect(
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
    { signal, rate: false, timeout: 120_000 },
  );

const caSecret = (ca: string): KubeObject => ({
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: {
    name: 'bench-ca',
    namespace: 'default',
    annotations: { 'cert-manager.io/allow-direct-injection': 'true' },
  },
  data: { 'ca.crt': Buffer.from(ca).toString('base64') },
});

/** Where the CA of the contender comes from, and how it changes. */
interface Source {
  first(): Promise<string>;
  change(): Promise<string>;
  /** Waits until the effects of the change have ended. */
  atRest?(): Promise<void>;
}

const secretSource = (kube: Kube, cluster: Cluster): Source => {
  const ca = (n: number): string => makeCa(join(cluster.directory, 'bench'), `ca-${n}`, `bench ${n}`).pem;
  const put = async (n: number): Promise<string> => {
    const pem = ca(n);
    await kube.patch(
      secrets,
      { namespace: 'default', name: 'bench-ca' },
      { apply: caSecret(pem), fieldManager: 'bench', force: true },
    );
    return pem;
  };
  return { first: () => put(1), change: () => put(2) };
};

const authoritySource = (kube: Kube): Source => {
  const bundle = async (): Promise<readonly string[]> => {
    const found = await kube.get(configMaps, { namespace: 'default', name: 'bench-trust' });
    return (found?.data?.['ca.crt'] ?? '')
      .split(/(?<=-----END CERTIFICATE-----\n)/)
      .filter((pem) => pem !== '');
  };
  const moreThan = async (count: number): Promise<string> => {
    for (;;) {
      const [first, ...rest] = await bundle();
      if (first !== undefined && rest.length >= count) return first;
      await pause(20);
    }
  };
  return {
    first: () => moreThan(0),
    change: async () => {
      await kube.patch(
        RESOURCE_KINDS.Authority,
        { namespace: 'default', name: 'bench' },
        { merge: { metadata: { annotations: { 'handover.dev/rotate': 'bench' } } } },
      );
      return moreThan(1);
    },
    atRest: async () => {
      for (;;) {
        const found = await kube.get(RESOURCE_KINDS.Authority, { namespace: 'default', name: 'bench' });
        const { phase, generations } = (found?.status ?? {}) as { phase?: string; generations?: object[] };
        if (
          phase === 'Stable' &&
          generations?.length === 1 &&
          JSON.stringify(generations).includes('"generation":2')
        )
          return;
        await pause(500);
      }
    },
  };
};

const makeObjects = async (kube: Kube, size: Size, { annotations }: Contender): Promise<void> => {
  await inParallel(objectsOf(size, annotations), 8, async (object) => {
    const kind = KIND_OF[object.kind ?? ''];
    if (kind !== undefined) await kube.create(kind, object);
  });
};

const counter = (cluster: Cluster): (() => number) => {
  let before = 0;
  return () => {
    const all = cluster
      .audit()
      .filter(
        ({ stage, user }) =>
          user.username === CONTENDER && (stage === 'ResponseComplete' || stage === 'ResponseStarted'),
      ).length;
    const since = all - before;
    before = all;
    return since;
  };
};

const fieldOf = (kind: string): string =>
  kind === 'CustomResourceDefinition'
    ? '/spec/conversion/webhook/clientConfig/caBundle'
    : '/webhooks/0/clientConfig/caBundle';

export async function round(
  contender: Contender,
  size: Size,
  drifts: number,
  say: (line: string) => void,
): Promise<Figures> {
  const end = new AbortController();
  const cluster = await startCluster({ audit: 'Metadata' });
  const kube = connectTo(cluster, end.signal);
  let process: Watched | undefined;
  try {
    for (const crd of [...crds(), certificateCrd])
      await kube.create(customResourceDefinitions, crd as unknown as KubeObject);
    await cluster.kubectl('wait', '--for=condition=Established', 'crd', '--all', '--timeout=120s');
    await kube.create(namespaces, { metadata: { name: 'handover-system' } });
    const source = contender.source === 'secret' ? secretSource(kube, cluster) : authoritySource(kube);
    if (contender.source === 'authority')
      await kube.create(RESOURCE_KINDS.Authority, {
        apiVersion: 'handover.dev/v1alpha1',
        kind: 'Authority',
        metadata: { name: 'bench', namespace: 'default' },
        // No workload to wait for.
        spec: { rotation: { reloadWithin: '1s' } },
      });
    const ready = contender.source === 'secret' ? await source.first() : undefined;
    say(`making ${size.webhooks} webhooks and ${size.crds} CRDs`);
    await makeObjects(kube, size, contender);
    const watcher = new Watcher(kube, end.signal);
    await watcher.ready;
    // No contender causes the API server's remaining work on the CRDs.
    await pause(10_000);
    const requests = counter(cluster);
    requests();

    const serverCpu = (): number => cpuOf(cluster.apiServer.pid);
    const serverBefore = serverCpu();
    say('started');
    const log = join(cluster.directory, 'contender.log');
    const began = performance.now();
    process = new Watched(contender.command(cluster.kubeconfigFor(CONTENDER, ['system:masters'])), log);
    const first = ready ?? (await source.first());
    const firstMs = (await watcher.allHold(first, LONG_MS)) - began;
    await pause(5_000);
    const firstCpu = process.cpu;
    const serverFirst = serverCpu();
    const firstRequests = requests();
    const load = loadavg()[0] ?? 0;
    say(`all ${watcher.size} injected after ${Math.round(firstMs)} ms`);

    const asked = performance.now();
    const second = await source.change();
    const changeMs = (await watcher.allHold(second, LONG_MS)) - asked;
    await source.atRest?.();
    await pause(5_000);
    const changeCpu = process.cpu;
    const serverChange = serverCpu();
    const changeRequests = requests();
    say(`a new CA has reached all after ${Math.round(changeMs)} ms`);

    const driftMs: number[] = [];
    let exact = 0;
    const stranger = makeCa(join(cluster.directory, 'bench'), 'stranger', 'stranger').pem;
    const caBundle = Buffer.from(stranger).toString('base64');
    for (let index = 0; index < drifts; index++) {
      // One in four is a CRD, spread over all CRDs.
      const at = (index * 7919) % (index % 4 === 0 ? size.crds : size.webhooks);
      const name = index % 4 === 0 ? `benches${at}.bench.example.com` : `bench-${at}`;
      const kind =
        index % 4 === 0
          ? 'CustomResourceDefinition'
          : at % 2 === 0
            ? 'ValidatingWebhookConfiguration'
            : 'MutatingWebhookConfiguration';
      const before = watcher.seen(name)?.bundle;
      const target = KIND_OF[kind];
      if (target === undefined) throw new TypeError(kind);
      // The write has landed when the answer or the event arrives, whichever is first.
      const seen = watcher.until(
        () => (watcher.seen(name)?.bundle === stranger ? watcher.seen(name)?.at : undefined),
        60_000,
        `${name} is seen changed`,
      );
      await kube.patch(
        target,
        { name },
        { json: [{ op: 'add', path: fieldOf(kind), value: caBundle }], fieldManager: 'stranger' },
      );
      const answered = performance.now();
      const landed = Math.min(answered, await seen);
      const right = await watcher.until(
        () => {
          const now = watcher.seen(name);
          return now?.bundle.includes(second) ? now.at : undefined;
        },
        60_000,
        `${name} is put right`,
      );
      driftMs.push(Math.max(0, right - landed));
      if (watcher.seen(name)?.bundle === before) exact++;
      await pause(20);
    }
    const driftCpu = process.cpu;
    const serverDrift = serverCpu();
    const driftRequests = requests();
    say(`${drifts} drifts`);

    await pause(IDLE_MS);
    return {
      load,
      firstMs,
      changeMs,
      driftMs,
      exact,
      rss: process.rss,
      peak: process.peak,
      cpu: {
        first: firstCpu,
        change: changeCpu - firstCpu,
        drift: driftCpu - changeCpu,
        idle: process.cpu - driftCpu,
      },
      server: {
        first: serverFirst - serverBefore,
        change: serverChange - serverFirst,
        drift: serverDrift - serverChange,
      },
      requests: { first: firstRequests, change: changeRequests, drift: driftRequests, idle: requests() },
    };
  } finally {
    await process?.stop();
    end.abort();
    await cluster.stop();
  }
}
