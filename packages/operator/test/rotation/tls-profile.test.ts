import { execFile } from 'node:child_process';
import { loadavg } from 'node:os';
import type { SecureVersion } from 'node:tls';
import { promisify } from 'node:util';
import { configMaps, deployments, pods as podKind } from '@handover/kube';
import { mustTakeAtMost } from '@handover/test-api-server';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { resource, until } from '../cluster/stage.ts';
import { handshake, type Verdict } from './pod/handshake.ts';
import { type RotationStage, setRotationStage } from './stage.ts';

// Pods with a TLS profile, on a real node: one reads it once, one follows it, one starts without a reachable API server.
let stage: RotationStage;
const LONG = 600_000;
const NAMESPACE = 'default';
const NAMES = ['once', 'hot'] as const;
type Server = (typeof NAMES)[number];
/** Ways to pods, by their addresses. */
const ports = new Map<string, Promise<number>>();
const run = promisify(execFile);
const say = (line: string): void => void process.stdout.write(`${line}\n`);

const podSpec = (manner: Server) => ({
  enableServiceLinks: false,
  containers: [
    {
      name: 'main',
      image: stage.image,
      imagePullPolicy: 'Never',
      command: ['node', '/app/profile.mjs'],
      env: [{ name: 'MANNER', value: manner }],
      readinessProbe: { httpGet: { path: '/', port: 8080 }, periodSeconds: 1, timeoutSeconds: 5 },
      // Keeps serving until all clients have learnt of its end.
      lifecycle: { preStop: { sleep: { seconds: 2 } } },
      volumeMounts: [
        { name: 'tls', mountPath: '/tls' },
        { name: 'profile', mountPath: '/profile' },
        { name: 'platform', mountPath: '/etc/handover/platform' },
        { name: 'state', mountPath: '/state' },
      ],
    },
  ],
  volumes: [
    { name: 'tls', secret: { secretName: 'server' } },
    { name: 'profile', configMap: { name: 'tls-profile' } },
    { name: 'platform', configMap: { name: 'handover-platform' } },
    { name: 'state', emptyDir: {} },
  ],
});

const deployment = (name: Server): object => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name, namespace: NAMESPACE },
  spec: {
    replicas: 1,
    selector: { matchLabels: { app: name } },
    strategy: { rollingUpdate: { maxSurge: 1, maxUnavailable: 0 } },
    template: {
      metadata: {
        labels: { app: name, tls: 'profile' },
        annotations: name === 'hot' ? { 'handover.dev/reload': 'hot' } : {},
      },
      spec: podSpec(name),
    },
  },
});
const profile = (type: string): object =>
  resource('TLSProfile', 'profile', {
    type,
    configMapName: 'tls-profile',
    workloadSelector: { matchLabels: { tls: 'profile' } },
  });

const wayTo = (address: string): Promise<number> => {
  const known = ports.get(address) ?? stage.cluster.node.forward(address);
  ports.set(address, known);
  return known;
};
const shake = async (name: Server, version: SecureVersion): Promise<Verdict> => {
  const [pod] = await livePods(name);
  return shakeAt(await wayTo(`${pod?.ip}:8443`), version);
};
const shakeAt = (port: number, version: SecureVersion): Promise<Verdict> =>
  handshake(
    { name: 'server', address: `127.0.0.1:${port}` },
    { rejectUnauthorized: false, minVersion: version, maxVersion: version },
  );
const livePods = async (app: string) => {
  const { items } = await stage.kube.list(podKind, { namespace: NAMESPACE, labelSelector: `app=${app}` });
  return items.map(({ metadata, status }) => {
    const { conditions = [], containerStatuses = [] } = (status ?? {}) as {
      conditions?: { type: string; status: string }[];
      containerStatuses?: { restartCount: number }[];
      podIP?: string;
    };
    return {
      uid: metadata.uid ?? '',
      ready: conditions.some(({ type, status: is }) => type === 'Ready' && is === 'True'),
      restarts: containerStatuses[0]?.restartCount ?? 0,
      ip: (status as { podIP?: string } | undefined)?.podIP ?? '',
    };
  });
};
const oneReady = (app: string) => async (): Promise<boolean> => {
  const live = await livePods(app);
  return live.length === 1 && live[0]?.ready === true;
};
const isRolledOut = async (): Promise<boolean> => {
  const paths = '{.status.minTLSVersion} {.status.conditions[?(@.type=="RolledOut")].status}';
  return (
    (await stage.cluster.kubectl('get', 'tlsprofile/profile', '-o', `jsonpath=${paths}`)) ===
    'VersionTLS13 True'
  );
};

beforeAll(async () => {
  // Restarts follow within a second instead of minutes.
  stage = await setRotationStage({ crashLoopBackOff: { maxContainerRestartPeriod: '1s' } });
  stage.startOperator();
  await stage.cluster.apply(
    resource('Authority', 'mesh'),
    resource('Leaf', 'server', { authority: 'mesh', secretName: 'server', dnsNames: ['server'] }),
    profile('Intermediate'),
  );
  await until(
    () => stage.kube.get(configMaps, { namespace: NAMESPACE, name: 'tls-profile' }),
    'the file',
    LONG,
  );
  await stage.cluster.apply(...NAMES.map(deployment));
  for (const name of NAMES) await until(oneReady(name), `${name} to be ready`, LONG);
}, LONG);
afterAll(() => stage?.stop());

test(
  'S1.4 Intermediate to Modern: one rollout of pods that read it once; no rollout and no refused handshake for pods that follow it',
  async () => {
    for (const name of NAMES) {
      await until(async () => (await shake(name, 'TLSv1.2')).ok, `${name} over TLS 1.2`);
      expect(await shake(name, 'TLSv1.3')).toEqual({ ok: true });
    }
    const before = new Map(
      await Promise.all(NAMES.map(async (name) => [name, await livePods(name)] as const)),
    );
    const hot = await wayTo(`${before.get('hot')?.[0]?.ip}:8443`);
    const refused: string[] = [];
    let handshakes = 0;
    let calling = true;
    const load = (async () => {
      while (calling) {
        const verdict = await shakeAt(hot, 'TLSv1.3');
        handshakes++;
        if (!verdict.ok) refused.push(`${verdict.kind} ${verdict.why}`);
      }
    })();
    const began = Date.now();
    await stage.cluster.apply(profile('Modern'));
    await until(async () => !(await shakeAt(hot, 'TLSv1.2')).ok, 'the hot one to refuse TLS 1.2', LONG);
    const hotAfter = Date.now() - began;
    await until(isRolledOut, 'the rollout', LONG);
    await until(oneReady('once'), 'one pod that reads it once', LONG);
    const rolledAfter = Date.now() - began;
    calling = false;
    await load;
    say(
      `Intermediate → Modern: hot after ${hotAfter} ms, rolled out after ${rolledAfter} ms; ` +
        `${handshakes} handshakes of TLS 1.3 with the hot one, ${refused.length} failed; load ${loadavg()[0]?.toFixed(1)}`,
    );
    expect(refused).toEqual([]);
    for (const name of NAMES) {
      // A new pod becomes reachable a moment later.
      await until(async () => (await shake(name, 'TLSv1.3')).ok, `${name} over TLS 1.3`);
      expect(await shake(name, 'TLSv1.2')).toMatchObject({ ok: false, kind: 'handshake' });
    }
    expect(await livePods('hot')).toEqual(before.get('hot'));
    const revisions = await Promise.all(
      NAMES.map(async (name) => {
        const found = await stage.kube.get(deployments, { namespace: NAMESPACE, name });
        return found?.metadata.annotations?.['deployment.kubernetes.io/revision'];
      }),
    );
    expect(revisions).toEqual(['2', '1']);
    expect((await livePods('once'))[0]?.uid).not.toBe(before.get('once')?.[0]?.uid);
  },
  LONG,
);

const RESTARTS = 12;

test(
  'S1.1 a pod that cannot reach the API server starts twelve times over, and never tries to reach it',
  async () => {
    await stage.cluster.apply({
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: 'cut', namespace: NAMESPACE, labels: { app: 'cut' } },
      spec: podSpec('once'),
    });
    await until(oneReady('cut'), 'the pod', LONG);
    const [pod] = await livePods('cut');
    const ip = pod?.ip ?? '';
    await cut(ip);
    const port = await wayTo(`${ip}:8080`);
    const ask = async (path: string): Promise<string> =>
      (await fetch(`http://127.0.0.1:${port}${path}`, { headers: { connection: 'close' } })).text();
    const starts = async (): Promise<readonly string[]> => {
      try {
        return (await ask('/starts')).trim().split('\n');
      } catch {
        return []; // it is starting
      }
    };
    const first = await until(async () => (await starts()).length || false, 'its first start');
    expect(first).toBe(1);
    for (let restart = 1; restart <= RESTARTS; restart++) {
      await ask('/exit').catch(() => undefined);
      await until(async () => (await starts()).length === first + restart, `start ${restart}`, LONG);
    }
    await until(async () => (await livePods('cut'))[0]?.restarts === RESTARTS, 'it to be counted', LONG);
    const taken = (await starts()).slice(first).map((line) => line.split(' '));
    say(
      `${RESTARTS} starts without an API server, ms from process to listening: ${taken.map(([ms]) => ms).join(' ')}; ` +
        `load ${loadavg()[0]?.toFixed(1)}`,
    );
    mustTakeAtMost('S1.1', Math.max(...taken.map(([ms]) => Number(ms))));
    expect(taken.map(([, isOpenShift]) => isOpenShift)).toEqual(Array(RESTARTS).fill('false'));
    expect((await livePods('cut'))[0]?.uid).toBe(pod?.uid);
    expect(await packets()).toBe(0);
    // The counter works: this is what a request would have looked like.
    await stage.cluster
      .kubectl(
        'exec',
        'cut',
        '--',
        'node',
        '-e',
        "fetch('https://10.96.0.1',{signal:AbortSignal.timeout(3000)})",
      )
      .catch(() => undefined);
    expect(await packets()).toBeGreaterThan(0);
  },
  LONG,
);

const nft = async (...args: readonly string[]): Promise<string> => {
  const [command = '', ...enter] = stage.cluster.node.enter;
  return (await run(command, [...enter, 'nft', ...args])).stdout;
};

/** Drops and counts everything that a pod sends to the API server. */
const cut = async (ip: string): Promise<void> => {
  const rule = `ip saddr ${ip} tcp dport { 443, 6443 } counter drop`;
  await nft(
    `add table ip cut; add chain ip cut input { type filter hook input priority -10; }; add rule ip cut input ${rule}; ` +
      `add chain ip cut forward { type filter hook forward priority -10; }; add rule ip cut forward ${rule}`,
  );
};
const packets = async (): Promise<number> =>
  [...(await nft('list', 'table', 'ip', 'cut')).matchAll(/packets (\d+)/g)].reduce(
    (sum, [, count]) => sum + Number(count),
    0,
  );
