import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { promisify } from 'node:util';
import { configMaps, pods } from '@handover/kube';
import { TLS_PROFILE_PATH } from '@handover/material';
import { mustTakeAtMost } from '@handover/test-api-server';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { clusterVersionCrd, setClusterVersion } from '../cluster/openshift.ts';
import { resource, until } from '../cluster/stage.ts';
import { type RotationStage, setRotationStage } from './stage.ts';

// A node that loses its network. Its kubelet has only what it holds, and restarts containers from that.
let stage: RotationStage;
const LONG = 600_000;
/** The kubelet gives up a ConfigMap that it reads only at container starts after five sync intervals, of a minute each. */
const AWAY_MS = 390_000;
const RESTARTS = 12;
/** A container was back within ten seconds on an idle machine. */
const MOST_MS_TO_RESTART = 60_000;
const run = promisify(execFile);
const say = (line: string): void => void process.stdout.write(`${line}\n`);

interface Container {
  readonly volumeMounts: readonly object[];
  readonly [more: string]: unknown;
}
interface Workload {
  readonly spec: {
    readonly template: {
      readonly metadata: object;
      readonly spec: { readonly containers: readonly Container[]; readonly volumes: readonly object[] };
    };
  };
}

/** The recipe's resources: the TLSProfile, and a Deployment that uses it. */
const recipe = (): readonly [object, Workload] => {
  const text = readFileSync(new URL('../../../../docs/recipes/tls-profile.md', import.meta.url), 'utf8');
  const [profile = '', workload = ''] = [...text.matchAll(/```yaml\n([^`]*)```/g)].map(([, yaml]) => yaml);
  const [first, second] = [profile, workload].map((yaml) => parseAllDocuments(yaml)[0]?.toJS() as object);
  return [first ?? {}, second as Workload];
};

/** A pod of the recipe's template, with a program that notes each start. `more`: fields of its container. */
const pod = (name: string, more: object = {}): object => {
  const { metadata, spec } = recipe()[1].spec.template;
  const containers = spec.containers.map((container) => ({
    ...container,
    image: stage.image,
    imagePullPolicy: 'Never',
    command: ['node', '/app/profile.mjs'],
    env: [{ name: 'PROFILE', value: TLS_PROFILE_PATH }],
    volumeMounts: [
      ...container.volumeMounts,
      { name: 'tls', mountPath: '/tls' },
      { name: 'state', mountPath: '/state' },
    ],
    ...more,
  }));
  const volumes = [
    ...spec.volumes,
    { name: 'tls', secret: { secretName: 'server' } },
    { name: 'state', emptyDir: {} },
  ];
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { ...metadata, name, namespace: 'default' },
    // Nothing evicts it while the node is away.
    spec: {
      ...spec,
      containers,
      volumes,
      enableServiceLinks: false,
      tolerations: [{ operator: 'Exists' }],
    },
  };
};

const addressOf = async (name: string): Promise<string | undefined> => {
  const found = await stage.kube.get(pods, { namespace: 'default', name });
  return (found?.status as { podIP?: string } | undefined)?.podIP;
};

/** The program in a pod, asked on the pod's own address: the API server takes no part. */
class Watched {
  readonly #port: number;
  private constructor(port: number) {
    this.#port = port;
  }
  static async of(name: string): Promise<Watched> {
    const address = await until(() => addressOf(name), `an address for ${name}`, LONG);
    const watched = new Watched(await stage.cluster.node.forward(`${address}:8080`));
    await until(async () => (await watched.starts()).length === 1, `${name} to serve`, LONG);
    return watched;
  }
  async #ask(path: string): Promise<string> {
    const answer = await fetch(`http://127.0.0.1:${this.#port}${path}`, {
      headers: { connection: 'close' },
      signal: AbortSignal.timeout(5_000),
    });
    return answer.text();
  }
  /** Milliseconds until it served, and what it took the platform for; empty while it does not run. */
  async starts(): Promise<readonly (readonly [number, string])[]> {
    const text = await this.#ask('/starts').catch(() => '');
    return text
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => [Number(line.split(' ')[0]), line.split(' ')[1] ?? ''] as const);
  }
  async kill(): Promise<void> {
    await this.#ask('/exit').catch(() => undefined);
  }
}

const nft = async (...args: readonly string[]): Promise<string> => {
  const [command = '', ...enter] = stage.cluster.node.enter;
  return (await run(command, [...enter, 'nft', ...args])).stdout;
};
/** Drops every packet between the node's network, its kubelet included, and the control plane. What pods send is counted apart. */
const cutNode = async (): Promise<void> => {
  const control = stage.cluster.node.address;
  const inside = 'ip saddr 10.244.0.10-10.244.0.254';
  await nft(
    'add table ip away; ' +
      'add counter ip away pods; add counter ip away node; ' +
      'add chain ip away input { type filter hook input priority -10; }; ' +
      'add chain ip away forward { type filter hook forward priority -10; }; ' +
      `add rule ip away input ${inside} tcp dport { 443, 6443 } counter name pods drop; ` +
      `add rule ip away forward ${inside} tcp dport { 443, 6443 } counter name pods drop; ` +
      `add rule ip away input ip daddr ${control} tcp dport 6443 counter name node drop; ` +
      `add rule ip away input ip saddr ${control} tcp sport 6443 drop`,
  );
};
const healNode = (): Promise<string> => nft('delete table ip away');
const dropped = async (of: 'pods' | 'node'): Promise<number> =>
  Number(/packets (\d+)/.exec(await nft('list', 'counter', 'ip', 'away', of))?.[1]);
const lastHeard = (): Promise<string> =>
  stage.cluster.kubectl(
    'get',
    'lease',
    '-n',
    'kube-node-lease',
    stage.cluster.node.name,
    '-o',
    'jsonpath={.spec.renewTime}',
  );

beforeAll(async () => {
  // Restarts follow within a second instead of minutes. The sync interval is the kubelet's own.
  stage = await setRotationStage({ crashLoopBackOff: { maxContainerRestartPeriod: '1s' } });
  await stage.cluster.apply(await clusterVersionCrd());
  await stage.cluster.kubectl('wait', '--for=condition=Established', 'crd', '--all', '--timeout=60s');
  await setClusterVersion(stage.cluster, '4.20.1');
  stage.startOperator();
  await stage.cluster.apply(
    resource('Authority', 'mesh'),
    resource('Leaf', 'server', { authority: 'mesh', secretName: 'server', dnsNames: ['server'] }),
    recipe()[0],
  );
  for (const name of ['shop-tls', 'handover-platform'])
    await until(() => stage.kube.get(configMaps, { namespace: 'default', name }), name, LONG);
}, LONG);
afterAll(() => stage?.stop());

test(
  'S1.1 on a node that lost its network more than six minutes ago the recipe’s container is killed twelve times and starts twelve times, without an API call',
  async () => {
    // A ConfigMap that only an environment reads needs the API server at each start: it shows that the node is cut off.
    // Another name than the facts', because pods of one node share what the kubelet holds.
    const facts = {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'environment' },
      data: { A: 'a' },
    };
    const environment = { envFrom: [{ configMapRef: { name: 'environment' } }] };
    await stage.cluster.apply(facts, pod('shop'), pod('control', environment));
    const shop = await Watched.of('shop');
    const control = await Watched.of('control');
    expect(await shop.starts()).toEqual([[expect.any(Number), 'true']]);

    await cutNode();
    const cutAt = Date.now();
    const heard = await lastHeard();
    await new Promise((passed) => setTimeout(passed, AWAY_MS));
    // The kubelet renews it every ten seconds. One renewal may have been on its way.
    expect(Date.parse(await lastHeard()) - Date.parse(heard)).toBeLessThan(20_000);
    expect(await dropped('node')).toBeGreaterThan(0);

    await control.kill();
    for (let restart = 1; restart <= RESTARTS; restart++) {
      await shop.kill();
      await until(
        async () => (await shop.starts()).length === 1 + restart,
        `start ${restart}`,
        MOST_MS_TO_RESTART,
      );
    }
    const [, ...again] = await shop.starts();
    say(
      `node away for ${Math.round((Date.now() - cutAt) / 1000)} s; ${RESTARTS} starts, ` +
        `ms from process to listening: ${again.map(([ms]) => ms).join(' ')}`,
    );
    expect(again.map(([, isOpenShift]) => isOpenShift)).toEqual(Array(RESTARTS).fill('true'));
    mustTakeAtMost('S1.1', Math.max(...again.map(([ms]) => ms)));
    expect(await dropped('pods')).toBe(0);
    expect(await control.starts()).toEqual([]);

    await healNode();
    await until(async () => (await control.starts()).length === 2, 'the control after the cut', LONG);
  },
  3 * LONG,
);
