// S3 with `handover certgen --home kube`, as processes against a real API server and its controllers; docs/recipes/envoy-gateway.md.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { type ApiRequest, crds, type Grant, unused } from '@handover/install';
import { configMaps, type Kube, mutatingWebhookConfigurations, secrets } from '@handover/kube';
import { after, day, instant } from '@handover/material';
import { Operator } from '@handover/operator';
import { type AuditEvent, type Cluster, startCluster } from '@handover/test-cluster';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parseAllDocuments } from 'yaml';
import {
  accepts,
  buildCli,
  CA,
  type Ended,
  LEAVES,
  reader,
  recipe,
  recipeObjects,
  resourcesFile,
  runPods,
  Seen,
  start,
  upstreamSecrets,
  webhook,
  webhookName,
} from './certgen-stage.ts';
import { Relay } from './relay.ts';
import { connectTo, until } from './stage.ts';

const OWN = 'envoy-gateway-system';
const ACCOUNT = `system:serviceaccount:${OWN}:certgen`;
let cluster: Cluster;
let kube: Kube;
let kubelet: NodeJS.Timeout;
const end = new AbortController();

beforeAll(async () => {
  buildCli();
  cluster = await startCluster({ controllerManager: true, audit: 'Metadata' });
  kube = connectTo(cluster, end.signal);
  kubelet = setInterval(() => void runPods(kube).catch(() => {}), 300);
});
afterAll(async () => {
  clearInterval(kubelet);
  end.abort();
  await cluster.stop();
});

/** Runs with a kubeconfig; default: every right. */
const certgen = (args: readonly string[], kubeconfig = cluster.kubeconfig): Promise<Ended> =>
  start(['certgen', '--home', 'kube', '--kubeconfig', kubeconfig, ...args]).ended;
const preset = (namespace: string, ...args: readonly string[]): readonly string[] => [
  '--preset',
  'envoy-gateway',
  '--namespace',
  namespace,
  ...args,
];

const namespaceWithGateway = async (name: string): Promise<Seen> => {
  await cluster.kubectl('create', 'namespace', name);
  await cluster.apply(webhook(name));
  return new Seen(kube, name);
};

/** The account of the recipe, with only the rights of the recipe. */
const account = (): string =>
  cluster.kubeconfigFor(ACCOUNT, ['system:serviceaccounts', `system:serviceaccounts:${OWN}`]);
const isWrite = ({ verb }: AuditEvent): boolean => !['get', 'list', 'watch'].includes(verb);
const requestsOf = (user: string, since = 0): readonly AuditEvent[] =>
  cluster
    .audit()
    .slice(since)
    .filter(({ user: { username }, stage }) => username === user && stage === 'ResponseComplete');

const running = (namespace: string, name: string): Promise<unknown> =>
  until(async () => {
    const text = await cluster.kubectl('get', 'pods', '-n', namespace, '-l', `app=${name}`, '-o', 'json');
    const { items } = JSON.parse(text) as { items: readonly { status: { phase: string } }[] };
    return items.length > 0 && items.every(({ status }) => status.phase === 'Running');
  }, `pods of ${name}`);

describe('with the rights of the recipe', () => {
  let seen: Seen;
  let mine: string;
  beforeAll(async () => {
    seen = await namespaceWithGateway(OWN);
    await cluster.apply(...recipeObjects('ServiceAccount'));
    mine = account();
  });

  test('S3.1 and S3.3: four Secrets with upstream’s names, keys, types and SANs, the webhook’s bundle equal to theirs; a rerun writes nothing; one missing is made alone', async () => {
    const [, command = ''] = /\nhandover (certgen .*)\n/.exec(recipe) ?? [];
    expect(command).toBe('certgen --preset envoy-gateway --home kube');
    const [, shown = ''] = /\nhandover certgen [^\n]*\n```\n\n```text\n([\s\S]*?)```/.exec(recipe) ?? [];
    const first = await start([...command.split(' '), '--kubeconfig', mine]).ended;
    expect(first).toEqual({ code: 0, stderr: '', stdout: shown });
    const { items } = await kube.list(secrets, { namespace: OWN });
    expect(items.map(({ metadata }) => metadata.name).sort()).toEqual([
      'envoy',
      'envoy-gateway',
      'envoy-oidc-hmac',
      'envoy-rate-limit',
      'handover-authority-a498f7c86fbc48a087f66abc',
    ]);
    for (const name of LEAVES) {
      const { type, data = {}, metadata } = await seen.secret(name);
      expect(type).toBe('kubernetes.io/tls');
      expect(Object.keys(data).sort()).toEqual(['ca.crt', 'tls.crt', 'tls.key']);
      expect(metadata.labels).toMatchObject({ 'control-plane': 'envoy-gateway' });
      expect(await seen.text(name, 'ca.crt')).toBe(await seen.text('envoy', 'ca.crt'));
    }
    const hmac = await seen.secret('envoy-oidc-hmac');
    expect(hmac.type).toBe('Opaque');
    expect(hmac.metadata.labels).toMatchObject({ 'control-plane': 'envoy-gateway' });
    expect(Object.keys(hmac.data ?? {})).toEqual(['hmac-secret']);
    expect(Buffer.from(hmac.data?.['hmac-secret'] ?? '', 'base64')).toHaveLength(32);
    const names = async (name: string) => (await seen.certificates(name, 'tls.crt'))[0]?.dnsNames;
    expect(await names('envoy-gateway')).toEqual([
      'envoy-gateway',
      `envoy-gateway.${OWN}`,
      `envoy-gateway.${OWN}.svc`,
      `envoy-gateway.${OWN}.svc.cluster.local`,
    ]);
    expect(await names('envoy')).toEqual([`*.${OWN}`]);
    expect(await names('envoy-rate-limit')).toEqual([`*.${OWN}`]);
    expect(await seen.allAccept()).toBe(true);
    expect(await seen.caBundle()).toBe(await seen.text('envoy', 'ca.crt'));

    const before = await seen.versions();
    const since = cluster.audit().length;
    expect(await certgen(preset(OWN), mine)).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^0 objects written\n/),
    });
    expect(await seen.versions()).toEqual(before);
    expect(requestsOf(ACCOUNT, since).length).toBeGreaterThan(0);
    expect(requestsOf(ACCOUNT, since).filter(isWrite)).toEqual([]);

    await kube.delete(secrets, { namespace: OWN, name: 'envoy-rate-limit' });
    expect(await certgen(preset(OWN), mine)).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^1 object written\n/),
    });
    const { 'envoy-rate-limit': again, ...others } = await seen.versions();
    const { 'envoy-rate-limit': old, ...kept } = before;
    expect(others).toEqual(kept);
    expect(again).not.toBe(old);
    expect(await seen.allAccept()).toBe(true);
  });

  test('S3.3 a wrong webhook bundle is corrected with one write, without --overwrite', async () => {
    await kube.patch(
      mutatingWebhookConfigurations,
      { name: webhookName(OWN) },
      { json: [{ op: 'replace', path: '/webhooks/0/clientConfig/caBundle', value: 'Cg==' }] },
    );
    const since = cluster.audit().length;
    expect((await certgen(preset(OWN), mine)).code).toBe(0);
    expect(await seen.caBundle()).toBe(await seen.text('envoy', 'ca.crt'));
    expect(requestsOf(ACCOUNT, since).filter(isWrite)).toHaveLength(1);
  });

  test('S3.4 and S3.9: a restart-only Deployment is restarted exactly once per rotation, the HMAC untouched; followers are not restarted', async () => {
    await cluster.apply(
      reader(OWN, 'envoy-ratelimit', 'envoy-rate-limit'),
      reader(OWN, 'envoy-gateway', 'envoy-gateway'),
    );
    await running(OWN, 'envoy-ratelimit');
    await running(OWN, 'envoy-gateway');
    const hmac = await seen.secret('envoy-oidc-hmac');
    const templates = {
      limit: await seen.template('envoy-ratelimit'),
      gateway: await seen.template('envoy-gateway'),
    };
    const [, command = ''] = /\nhandover (certgen .*--rotation-id .*)\n/.exec(recipe) ?? [];
    const args = command.split(' ');
    const rotate = (): Promise<Ended> => start([...args, '--kubeconfig', mine]).ended;
    const done = await rotate();
    expect(done.code).toBe(0);
    expect(done.stdout).toContain(`${OWN}/${CA}: Activating, rotation 2030-01`);
    // What rests on time, and what is away for a moment, comes before the first write.
    const [rests, away, written] = done.stdout.split('\n');
    expect(rests).toContain(`${OWN}/${CA}: rests on reloadWithin (3 min): Deployment ${OWN}/envoy-gateway, `);
    expect(away).toMatch(
      /: WillInterrupt: Deployment envoy-gateway-system\/envoy-ratelimit: it has one replica/,
    );
    expect(written).toMatch(/^\d+ objects written$/);
    for (const look of ['plan', 'status']) {
      const said = await start([look, '--home', 'kube', '--kubeconfig', mine, ...preset(OWN)]).ended;
      expect(said.stdout).toMatch(
        /[Rr]ests on reloadWithin \(3 min\): Deployment envoy-gateway-system\/envoy-gateway, /,
      );
    }
    const limit = await seen.template('envoy-ratelimit');
    expect(limit.generation).toBe(templates.limit.generation + 1);
    expect(limit.annotations).toMatchObject({
      'example.com/keep': 'me',
      'kubectl.kubernetes.io/restartedAt': expect.any(String),
    });
    expect((await rotate()).code).toBe(0);
    expect(await seen.template('envoy-ratelimit')).toEqual(limit);
    expect(await seen.template('envoy-gateway')).toEqual(templates.gateway);
    expect(await seen.secret('envoy-oidc-hmac')).toEqual(hmac);
    expect(await seen.generations('envoy')).toEqual(['2', '1']);
    expect(await seen.caBundle()).toBe(await seen.text('envoy', 'ca.crt'));
    expect(await seen.allAccept()).toBe(true);
    // Asked for by name.
    const [, named = ''] = /\nkubectl (delete secret .*)\n/.exec(recipe) ?? [];
    await cluster.kubectl(...named.split(' '));
    expect((await certgen(preset(OWN), mine)).stdout).toMatch(/^1 object written\n/);
    expect((await seen.secret('envoy-oidc-hmac')).data).not.toEqual(hmac.data);
  });

  test('every granted right is used, except those for DaemonSets', () => {
    const requests = requestsOf(ACCOUNT).map((event): ApiRequest => {
      const { objectRef = {} } = event as unknown as { objectRef?: Record<string, string> };
      return {
        verb: event.verb,
        group: objectRef.apiGroup ?? '',
        resource: objectRef.resource ?? '',
        namespace: objectRef.namespace,
        name: event.verb === 'create' ? undefined : objectRef.name,
      };
    });
    const grants = recipeObjects('ServiceAccount').flatMap((object): readonly Grant[] => {
      const {
        kind,
        metadata,
        rules = [],
      } = object as {
        kind: string;
        metadata: { namespace?: string };
        rules?: readonly {
          apiGroups: string[];
          resources: string[];
          verbs: string[];
          resourceNames?: string[];
        }[];
      };
      if (kind !== 'Role' && kind !== 'ClusterRole') return [];
      return rules.flatMap(({ apiGroups, resources, verbs, resourceNames }) =>
        (resourceNames ?? [undefined]).map((name) => ({
          namespace: metadata.namespace,
          group: apiGroups[0] ?? '',
          resources,
          verbs,
          ...(name === undefined ? {} : { names: [name] }),
          why: '',
        })),
      );
    });
    expect(grants.length).toBeGreaterThan(5);
    expect(unused(grants, requests)).toEqual([`get apps/daemonsets in ${OWN}`]);
  });

  test('S3.4 a forbidden restart is an error with a code, and a retry does not rotate again', async () => {
    await kube.delete(secrets, { namespace: OWN, name: 'handover-authority-a498f7c86fbc48a087f66abc' });
    for (const name of LEAVES) await kube.delete(secrets, { namespace: OWN, name });
    await kube.delete(configMaps, { namespace: OWN, name: `${CA}-trust` });
    expect((await certgen(preset(OWN), mine)).code).toBe(0);
    const rights = recipeObjects('ServiceAccount');
    const lacking = rights.map((object) => {
      const { kind, rules = [] } = object as {
        kind: string;
        rules?: readonly { verbs: string[]; resources: string[] }[];
      };
      return kind === 'Role'
        ? {
            ...object,
            rules: rules.filter(
              ({ verbs, resources }) => !(verbs.includes('patch') && resources.includes('deployments')),
            ),
          }
        : object;
    });
    await cluster.apply(...lacking);
    const template = await seen.template('envoy-ratelimit');
    const generation = (await seen.state()).lastGeneration;
    for (let turn = 0; turn < 2; turn++) {
      const refused = await certgen(preset(OWN, '--rotation-id', 'forbidden'), mine);
      expect(refused.code).toBe(1);
      expect(refused.stderr).toMatch(/^KUBE_FORBIDDEN: .*deployments.*envoy-ratelimit.*RBAC/m);
      expect((await seen.state()).lastGeneration).toBe(generation + 1);
      expect(await seen.template('envoy-ratelimit')).toEqual(template);
      expect(await seen.allAccept()).toBe(true);
    }
    await cluster.apply(...rights);
    expect((await certgen(preset(OWN, '--rotation-id', 'forbidden'), mine)).code).toBe(0);
    expect((await seen.state()).lastGeneration).toBe(generation + 1);
    expect((await seen.template('envoy-ratelimit')).generation).toBe(template.generation + 1);
  });

  test('without the right to look for readers no rotation starts', async () => {
    const rights = recipeObjects('ServiceAccount');
    const lacking = rights.map((object) => {
      const { kind, rules = [] } = object as { kind: string; rules?: readonly { resources: string[] }[] };
      return kind === 'Role'
        ? { ...object, rules: rules.filter(({ resources }) => !resources.includes('pods')) }
        : object;
    });
    await cluster.apply(...lacking);
    const before = await seen.versions();
    const refused = await certgen(preset(OWN, '--rotation-id', 'blind'), mine);
    expect(refused).toMatchObject({ code: 1, stderr: expect.stringMatching(/^KUBE_FORBIDDEN: .*pods/) });
    expect(await seen.versions()).toEqual(before);
    await cluster.apply(...rights);
  });
});

test.concurrent.each<[string, readonly string[]]>([
  ['without', []],
  ['with', ['--overwrite']],
])(
  'S3.1 a restart-only Deployment that is there at the first install is not restarted, %s --overwrite',
  async (which, flags) => {
    const namespace = `first-install-${which}`;
    const seen = await namespaceWithGateway(namespace);
    await cluster.apply(reader(namespace, 'envoy-ratelimit', 'envoy-rate-limit'));
    await running(namespace, 'envoy-ratelimit');
    const template = await seen.template('envoy-ratelimit');
    // Six objects: a restart would be the seventh write.
    expect(await certgen(preset(namespace, ...flags))).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^6 objects written\n.*: Stable/),
    });
    // A restart comes 12 s after the last write: a run at that time finds nothing to do.
    await pause(13_000);
    expect((await certgen(preset(namespace))).stdout).toBe(`0 objects written\n${namespace}/${CA}: Stable\n`);
    expect(await seen.template('envoy-ratelimit')).toEqual(template);
  },
);

test.concurrent('S3.7 with the preset as it is shipped, an annotated Envoy that does not confirm keeps the old CA, is named, and the exit code is 1', async () => {
  const namespace = 'shipped';
  const seen = await namespaceWithGateway(namespace);
  expect((await certgen(preset(namespace))).code).toBe(0);
  // As the recipe annotates Envoy Gateway's own pods.
  const [, probe = ''] = /\n {6}handover\.dev\/probe: "(.*)"\n/.exec(recipe) ?? [];
  expect(probe).toBe('18000/mtls');
  await cluster.apply(
    reader(namespace, 'envoy', 'envoy', { 'handover.dev/probe': probe }),
    reader(namespace, 'envoy-gateway', 'envoy-gateway'),
  );
  await running(namespace, 'envoy');
  await running(namespace, 'envoy-gateway');
  const begun = await certgen(preset(namespace, '--rotation-id', 'a'));
  expect(begun).toMatchObject({ code: 0, stdout: expect.stringContaining('Activating, rotation a') });
  // It is asked, so that time does not speak for it.
  const [rests] = begun.stdout.split('\n');
  expect(rests).toContain('rests on reloadWithin (3 min): Deployment shipped/envoy-gateway, ');
  expect(rests).not.toContain('Deployment shipped/envoy,');
  // Why the real handshake fails, which packages/operator/src/certgen/preset-evidence.test.ts has: no pod is asked on loopback.
  const why = /Deployment shipped\/envoy to load [^(]*\(envoy-[^)]*127\.0\.0\.1 is a loopback/;
  const next = await certgen(preset(namespace, '--rotation-id', 'b'));
  expect(next.code).toBe(1);
  expect(next.stderr).toMatch(/^ROTATION_WAITS: /);
  expect(next.stderr).toMatch(why);
  const stuck = await certgen(preset(namespace, '--rotation-id', 'a', '--wait', '--timeout', '16s'));
  expect(stuck.code).toBe(1);
  expect(stuck.stderr).toMatch(/ROTATION_UNFINISHED: .* Activating: /);
  expect(stuck.stderr).toMatch(why);
  expect(await seen.generations('envoy')).toEqual(['2', '1']);
  expect((await seen.state()).lastGeneration).toBe(2);
});

test.concurrent('S3.2 and S3.8: new then old, never more; the old CA goes once the rotation has ended, and its leaf is refused', async () => {
  const namespace = 'bundles';
  const seen = await namespaceWithGateway(namespace);
  const file = ['-f', resourcesFile(namespace)];
  expect(await certgen(file)).toMatchObject({ code: 0, stderr: '' });
  const oldest = await seen.certificates('envoy', 'tls.crt');
  expect(await certgen([...file, '--rotation-id', 'a'])).toMatchObject({ code: 0 });
  expect(await seen.generations('envoy')).toEqual(['2', '1']);
  expect(accepts(await seen.certificates('envoy', 'ca.crt'), oldest)).toBe(true);
  const waits = await certgen([...file, '--rotation-id', 'b']);
  expect(waits).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(
      /^ROTATION_WAITS: rotation b of bundles\/envoy-gateway-ca waits for the one before it: .*waiting for/,
    ),
  });
  expect((await seen.state()).ids).not.toContain('b');
  expect(await certgen([...file, '--rotation-id', 'a', '--wait'])).toMatchObject({
    code: 0,
    stdout: expect.stringContaining('bundles/envoy-gateway-ca: Stable, rotation a'),
  });
  for (const name of LEAVES) expect(await seen.generations(name)).toEqual(['2']);
  expect(await seen.caBundle()).toBe(await seen.text('envoy', 'ca.crt'));
  expect(accepts(await seen.certificates('envoy', 'ca.crt'), oldest)).toBe(false);
  expect(await seen.allAccept()).toBe(true);
  expect(await certgen([...file, '--overwrite'])).toMatchObject({ code: 0 });
  expect(await seen.generations('envoy')).toEqual(['3', '2']);
  // As a CronJob: it neither waits nor asks for anything.
  await until(
    async () => (await certgen(file)).stdout.includes(`${CA}: Stable`),
    'a plain run to end it',
    60_000,
  );
  for (const name of LEAVES) expect(await seen.generations(name)).toEqual(['3']);
  expect(await seen.caBundle()).toBe(await seen.text('envoy', 'ca.crt'));
});

/** Passes on this many writes of a run but not their last answer: the process is killed before its next write. */
const killedAfter = async (count: number, args: readonly string[], tries = 3): Promise<number> => {
  const relay = await Relay.start(cluster);
  let begun = 0;
  let landed = 0;
  relay.fate = ({ method }) => (method === 'GET' || ++begun <= count ? 'pass' : 'hang');
  const kubeconfig = join(cluster.directory, `relay-${relay.url.split(':').at(-1)}.kubeconfig`);
  writeFileSync(kubeconfig, relay.kubeconfig);
  const { child, ended } = start(['certgen', '--home', 'kube', '--kubeconfig', kubeconfig, ...args]);
  relay.done = ({ method, status }) => {
    if (method === 'GET' || status >= 300 || ++landed < count) return 'pass';
    child.kill('SIGKILL');
    return 'drop';
  };
  const { stderr } = await ended;
  await relay.stop();
  // On a busy machine nine runs at once may get no answer. Nothing was written: it has not begun.
  if (landed === 0 && tries > 1 && stderr.startsWith('KUBE_TIMEOUT'))
    return killedAfter(count, args, tries - 1);
  if (landed === 0) throw new Error(`it ended before its first write: ${stderr}`);
  return landed;
};

describe('S3.5 killed after each single write', () => {
  test('of the very first run: the next run makes the rest, with the same CA', async () => {
    const turns = [1, 2, 3, 4, 5, 6, 7, 8];
    const landed = await Promise.all(
      turns.map(async (count) => {
        const namespace = `first-${count}`;
        const seen = await namespaceWithGateway(namespace);
        const wrote = await killedAfter(count, preset(namespace));
        const [before] = (await seen.state()).generations;
        expect(await certgen(preset(namespace))).toMatchObject({ code: 0, stderr: '' });
        const state = await seen.state();
        expect(state.generations).toEqual([before]);
        for (const name of LEAVES)
          expect(await seen.text(name, 'ca.crt')).toBe(await seen.text('envoy', 'ca.crt'));
        expect(await seen.caBundle()).toBe(await seen.text('envoy', 'ca.crt'));
        expect(await seen.allAccept()).toBe(true);
        await seen.secret('envoy-oidc-hmac');
        return wrote;
      }),
    );
    // State, three leaves, their bundle, the webhook, the HMAC: after these no write is left to be killed at.
    expect(landed).toEqual([1, 2, 3, 4, 5, 6, 7, 7]);
  });

  test('of a rotation: the next run continues with the same CA, all bundles equal, one restart, one rotation', async () => {
    const turns = [1, 2, 3, 4, 5, 6, 7, 8, 9];
    const landed = await Promise.all(
      turns.map(async (count) => {
        const namespace = `again-${count}`;
        const seen = await namespaceWithGateway(namespace);
        expect((await certgen(preset(namespace))).code).toBe(0);
        await cluster.apply(reader(namespace, 'envoy-ratelimit', 'envoy-rate-limit'));
        await running(namespace, 'envoy-ratelimit');
        const template = await seen.template('envoy-ratelimit');
        const args = preset(namespace, '--rotation-id', 'job');
        const wrote = await killedAfter(count, args);
        const made = (await seen.state()).generations.find(({ number }) => number === 2);
        expect(await seen.allAccept()).toBe(true);
        expect((await certgen(args)).code).toBe(0);
        const state = await seen.state();
        expect(state.lastGeneration).toBe(2);
        expect(state.ids.filter((id) => id === 'job')).toHaveLength(1);
        expect(state.generations.find(({ number }) => number === 2)?.anchors).toEqual(made?.anchors);
        expect(await seen.generations('envoy')).toEqual(['2', '1']);
        for (const name of LEAVES)
          expect(await seen.text(name, 'ca.crt')).toBe(await seen.text('envoy', 'ca.crt'));
        expect(await seen.caBundle()).toBe(await seen.text('envoy', 'ca.crt'));
        expect(await seen.allAccept()).toBe(true);
        expect((await seen.template('envoy-ratelimit')).generation).toBe(template.generation + 1);
        return wrote;
      }),
    );
    // Two steps of the state, three leaves, their bundle, the webhook, the restart.
    expect(landed).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 8]);
  });
});

test.concurrent('two or more Jobs at once: one CA, one rotation, and every Job succeeds', async () => {
  const namespace = 'crowd';
  const seen = await namespaceWithGateway(namespace);
  const crowd = async (...args: readonly string[]): Promise<void> => {
    const all = await Promise.all([1, 2, 3, 4].map(() => certgen(preset(namespace, ...args))));
    for (const { code, stderr } of all) expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    for (const name of LEAVES)
      expect(await seen.text(name, 'ca.crt')).toBe(await seen.text('envoy', 'ca.crt'));
    expect(await seen.allAccept()).toBe(true);
  };
  await crowd();
  expect((await seen.state()).lastGeneration).toBe(1);
  await crowd('--rotation-id', 'x');
  expect((await seen.state()).lastGeneration).toBe(2);
  expect(await seen.generations('envoy')).toEqual(['2', '1']);
  // Without an id each Job continues the rotation in progress.
  await crowd('--overwrite');
  expect((await seen.state()).lastGeneration).toBe(2);
});

test.concurrent('S3.7 a workload that never confirms blocks the new leaves, is named, and the exit code is 1', async () => {
  const namespace = 'silent';
  const seen = await namespaceWithGateway(namespace);
  const file = ['-f', resourcesFile(namespace, { strategy: 'Phased' })];
  expect((await certgen(file)).code).toBe(0);
  // It promises a status document and serves none: nothing listens there.
  await cluster.apply(reader(namespace, 'proxy', 'envoy', { 'handover.dev/ack-port': '9' }));
  await running(namespace, 'proxy');
  const before = await seen.text('envoy', 'tls.crt');
  const stuck = await certgen([...file, '--rotation-id', 'a', '--wait', '--timeout', '16s']);
  expect(stuck).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(
      /ROTATION_UNFINISHED: .* Introducing: waiting for Deployment silent\/proxy to load CA generation 2 \(proxy[^)]*127\.0\.0\.1 is a loopback/,
    ),
  });
  expect(await seen.text('envoy', 'tls.crt')).toBe(before);
  expect(await seen.generations('envoy')).toEqual(['2', '1']);
  const next = await certgen([...file, '--rotation-id', 'b']);
  expect(next).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/^ROTATION_WAITS: .*Deployment silent\/proxy/),
  });
  const status = await start([
    'status',
    '--home',
    'kube',
    '--kubeconfig',
    cluster.kubeconfig,
    ...file,
    '--json',
  ]).ended;
  expect(JSON.parse(status.stdout).authorities[0]).toMatchObject({
    phase: 'Introducing',
    blockedBy: [{ consumer: 'Deployment silent/proxy' }],
  });
  // The workload is removed, which unblocks the rotation.
  await cluster.kubectl('delete', 'deployment', 'proxy', '-n', namespace);
  await until(
    async () => !(await cluster.kubectl('get', 'pods', '-n', namespace)).includes('proxy'),
    'its pod to go',
  );
  expect(await certgen([...file, '--rotation-id', 'a', '--wait'])).toMatchObject({
    code: 0,
    stdout: expect.stringContaining('Stable'),
  });
  expect(await seen.text('envoy', 'tls.crt')).not.toBe(before);
});

test.concurrent('S3.10 one command removes a compromised CA everywhere at once', async () => {
  const namespace = 'stolen';
  const seen = await namespaceWithGateway(namespace);
  expect((await certgen(preset(namespace))).code).toBe(0);
  await cluster.apply(reader(namespace, 'envoy-ratelimit', 'envoy-rate-limit'));
  await running(namespace, 'envoy-ratelimit');
  const stolen = await seen.certificates('envoy', 'tls.crt');
  const template = await seen.template('envoy-ratelimit');
  const [, command = ''] = /\nhandover (distrust .* --yes)\n/.exec(recipe) ?? [];
  const args = command.replaceAll(OWN, namespace).split(' ');
  const here = ['--namespace', namespace, '--kubeconfig', cluster.kubeconfig];
  const only = await start([...args.filter((word) => word !== '--yes'), ...here]).ended;
  expect(only).toMatchObject({ code: 0, stdout: expect.stringContaining('nothing was changed; add --yes') });
  expect(only.stdout).toMatch(/stolen\/secrets\/envoy/);
  expect(await seen.generations('envoy')).toEqual(['1']);
  const done = await start([...args, ...here]).ended;
  expect(done).toMatchObject({
    code: 0,
    stdout: expect.stringContaining(`generation 1 of ${namespace}/${CA} is distrusted`),
  });
  for (const name of LEAVES) expect(await seen.generations(name)).toEqual(['2']);
  expect(await seen.caBundle()).toBe(await seen.text('envoy', 'ca.crt'));
  expect(accepts(await seen.certificates('envoy', 'ca.crt'), stolen)).toBe(false);
  expect(await seen.allAccept()).toBe(true);
  expect((await seen.template('envoy-ratelimit')).generation).toBe(template.generation + 1);
});

describe.concurrent('S3.11 Secrets of upstream’s certgen, which keeps no CA key', () => {
  test('that have expired are left alone by a plain run, which ends with exit 1', async () => {
    const namespace = 'expired';
    const seen = await namespaceWithGateway(namespace);
    await cluster.apply(...(await upstreamSecrets(namespace, after(instant(Date.now()), -400 * day))));
    const versions = await seen.versions();
    const ended = await certgen(['-f', resourcesFile(namespace)]);
    expect(ended.code).toBe(1);
    expect(ended.stderr).toMatch(
      /^CERTGEN_NOT_VALID: .*expired\/secrets\/envoy.* expired at .*, and 2 other Secrets too; run with --overwrite/m,
    );
    expect(await seen.versions()).toEqual(versions);
  });

  test('are left alone, or taken over: first their CA is trusted, then leaves change', async () => {
    const namespace = 'taken';
    const seen = await namespaceWithGateway(namespace);
    await cluster.apply(...(await upstreamSecrets(namespace)));
    const file = ['-f', resourcesFile(namespace)];
    const before = await seen.text('envoy', 'tls.crt');
    const versions = await seen.versions();
    expect(await certgen(file)).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^0 objects written\n/),
    });
    expect(await seen.versions()).toEqual(versions);
    const begun = await certgen([...file, '--rotation-id', 'takeover']);
    expect(begun).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('Introducing, rotation takeover'),
    });
    for (const name of LEAVES) expect(await seen.certificates(name, 'ca.crt')).toHaveLength(2);
    expect(await seen.text('envoy', 'tls.crt')).toBe(before);
    const [adopted, made] = [...(await seen.state()).generations].reverse();
    expect(adopted).toMatchObject({ number: 0, role: 'current', hasKey: false });
    expect(made).toMatchObject({ number: 1, role: 'next', hasKey: true });
    expect(await seen.caBundle()).toBe(await seen.text('envoy', 'ca.crt'));
    expect(await certgen([...file, '--rotation-id', 'takeover', '--wait'])).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('Stable, rotation takeover'),
    });
    expect(await seen.text('envoy', 'tls.crt')).not.toBe(before);
    for (const name of LEAVES) expect(await seen.generations(name)).toEqual(['1']);
    expect(await seen.allAccept()).toBe(true);
  });

  test('a missing one cannot be made alone', async () => {
    const namespace = 'partly';
    await namespaceWithGateway(namespace);
    await cluster.apply(...(await upstreamSecrets(namespace)).slice(1));
    expect(await certgen(preset(namespace))).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(
        /^CERTGEN_NO_KEY: partly\/secrets\/envoy-gateway is missing.*--overwrite/,
      ),
    });
  });
});

test.concurrent('objects that another namespace manages are left to that namespace', async () => {
  const namespace = 'kept';
  const seen = await namespaceWithGateway(namespace);
  await cluster.kubectl('create', 'namespace', 'keeper');
  expect((await certgen(preset(namespace, '--operator-namespace', 'keeper'))).code).toBe(0);
  const versions = await seen.versions();
  const refused = await certgen(preset(namespace, '--overwrite'));
  expect(refused).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(
      /^CERTGEN_KEPT_ELSEWHERE: .* is kept from namespace keeper.*--operator-namespace keeper/,
    ),
  });
  expect(await seen.versions()).toEqual(versions);
  expect(await certgen(preset(namespace, '--operator-namespace', 'keeper'))).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/^0 objects written\n/),
  });
});

test.concurrent('without resources, without a namespace, or with a webhook to leave alone, it says so and does nothing there', async () => {
  expect(await certgen([])).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('--preset envoy-gateway or -f FILE'),
  });
  expect(await certgen(preset('nowhere'))).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/^KUBE_NOT_FOUND: .*namespaces "nowhere" not found/),
  });
  const namespace = 'no-webhook';
  const seen = await namespaceWithGateway(namespace);
  expect((await certgen(preset(namespace, '--disable-topology-injector'))).code).toBe(0);
  expect(await seen.caBundle()).toBe('');
});

test('an operator that is asked for the same Secrets takes them over, trust first; from then on certgen leaves them alone', async () => {
  const namespace = 'handed';
  const seen = await namespaceWithGateway(namespace);
  const file = resourcesFile(namespace);
  expect((await certgen(['-f', file])).code).toBe(0);
  const before = await seen.certificates('envoy', 'tls.crt');
  await cluster.apply(...crds());
  await cluster.kubectl('wait', '--for=condition=Established', 'crd', '--all', '--timeout=60s');
  await cluster.kubectl('create', 'namespace', 'handover-system');
  // Two consents: the Authority names the CA it is to trust, each resource says that its objects may be taken from certgen's state.
  const fingerprints = (await seen.certificates('envoy', 'ca.crt')).map(({ fingerprint }) => fingerprint);
  await cluster.apply(
    ...parseAllDocuments(readFileSync(file, 'utf8'))
      .map((document) => document.toJS() as { kind: string; metadata: object; spec: object })
      .map(({ metadata, spec, ...rest }) => ({
        ...rest,
        metadata: { ...metadata, annotations: { 'handover.dev/adopt': 'true' } },
        spec: rest.kind === 'Authority' ? { ...spec, adopt: { fingerprints } } : spec,
      })),
  );
  const stop = new AbortController();
  const operator = new Operator({
    kube,
    namespace: 'handover-system',
    identity: 'operator',
    on: () => {},
  });
  const ended = operator.run(stop.signal);
  const taken = await until(async () => {
    const bundle = await seen.certificates('envoy', 'ca.crt');
    return bundle.length === 2 && { bundle, leaf: await seen.text('envoy', 'tls.crt') };
  }, 'the operator’s CA beside the old one');
  expect(accepts(taken.bundle, before)).toBe(true);
  expect(await certgen(['-f', file, '--overwrite'])).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/^CERTGEN_KEPT_ELSEWHERE: .* kept from namespace handover-system/),
  });
  stop.abort();
  await ended;
});
