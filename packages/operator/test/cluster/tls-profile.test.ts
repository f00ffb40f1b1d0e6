import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { connect, createServer, type SecureVersion } from 'node:tls';
import { type ApiRequest, allowed, grantsFor, unused } from '@handover/install';
import {
  type ConfigMap,
  configMaps,
  daemonSets,
  deployments,
  Informer,
  type KubeObject,
  pods,
} from '@handover/kube';
import { RESOURCE_KINDS } from '@handover/operator';
import { namespaceObject } from '@handover/test-api-server';
import { makeCa } from '@handover/test-cluster';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { apiServer, apiServerCrd, clusterVersionCrd, setClusterVersion } from './openshift.ts';
import { playKubelet } from './played-kubelet.ts';
import { condition, type Running, resource, type Stage, setStage, until } from './stage.ts';

const STAMP = 'handover.dev/tls-profile-hash';
let stage: Stage;
let kubelet: ReturnType<typeof playKubelet>;
let operator: Running;
const watching = new AbortController();

/** Every version of the watched objects, oldest first. */
interface Version {
  readonly name: string;
  readonly version: number;
  readonly generation: number;
  readonly stamp: string | undefined;
}
const templates: Version[] = [];
const files: { readonly name: string; readonly version: number; readonly hash: string | undefined }[] = [];

const annotationsIn = ({ spec }: KubeObject): Readonly<Record<string, string>> =>
  (spec as { template: { metadata: { annotations?: Record<string, string> } } }).template.metadata
    .annotations ?? {};
const hashIn = ({ data }: ConfigMap): string | undefined =>
  data?.['profile.json'] === undefined
    ? undefined
    : createHash('sha256').update(data['profile.json']).digest('hex');

beforeAll(async () => {
  stage = await setStage({ controllerManager: true, installed: { openshift: true } });
  kubelet = playKubelet(stage.kube);
  const { signal } = watching;
  const workloads = new Informer(stage.kube, deployments, { namespace: 'default' });
  workloads.on('changed', ({ after }) => {
    if (after === undefined) return;
    const { name = '', resourceVersion, generation = 0 } = after.metadata;
    const last = templates.findLast((known) => known.name === name);
    if (last?.generation === generation) return;
    templates.push({
      name,
      version: Number(resourceVersion),
      generation,
      stamp: annotationsIn(after)[STAMP],
    });
  });
  const profiles = new Informer<ConfigMap>(stage.kube, configMaps, { namespace: 'default' });
  profiles.on('changed', ({ after }) => {
    if (after === undefined) return;
    const { name = '', resourceVersion } = after.metadata;
    files.push({ name, version: Number(resourceVersion), hash: hashIn(after) });
  });
  await Promise.all([workloads.start(signal).ready, profiles.start(signal).ready]);
  operator = stage.start('one');
}, 300_000);
afterAll(async () => {
  watching.abort();
  kubelet.stop();
  await stage.stop();
});

const deployment = (name: string, labels: object, annotations: object = {}): object => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name, namespace: 'default' },
  spec: {
    replicas: 2,
    selector: { matchLabels: { app: name } },
    template: {
      metadata: {
        labels: { app: name, ...labels },
        annotations: { 'example.com/keep': 'me', ...annotations },
      },
      spec: {
        containers: [{ name: 'main', image: 'none', volumeMounts: [{ name: 'tls', mountPath: '/tls' }] }],
        volumes: [{ name: 'tls', configMap: { name: 'tls-profile' } }],
      },
    },
  },
});

/** As nmstate's handler: on every node, without TLS. */
const NET = {
  apiVersion: 'apps/v1',
  kind: 'DaemonSet',
  metadata: { name: 'net', namespace: 'default' },
  spec: {
    selector: { matchLabels: { app: 'net' } },
    template: {
      metadata: { labels: { app: 'net', tls: 'platform' } },
      spec: { containers: [{ name: 'main', image: 'none' }] },
    },
  },
};

const configMap = async (name = 'tls-profile', namespace = 'default'): Promise<ConfigMap | undefined> =>
  stage.kube.get(configMaps, { namespace, name });
const profileIn = async (name = 'tls-profile') =>
  JSON.parse((await configMap(name))?.data?.['profile.json'] ?? '{}') as {
    readonly ciphers?: readonly string[];
    readonly minTLSVersion?: string;
  };
const statusOf = async (name: string) =>
  (await stage.kube.get(RESOURCE_KINDS.TLSProfile, { namespace: 'default', name }))?.status as
    | { readonly hash?: string; readonly type?: string; readonly minTLSVersion?: string }
    | undefined;
const isMinimum = (minimum: string, name?: string) => async (): Promise<boolean> =>
  (await profileIn(name)).minTLSVersion === minimum;
/** Waits until the operator reports this about a profile. */
const says = (name: string, type: string, status: string, reason: string, words = /./) =>
  until(async () => {
    const found = await condition(stage, 'TLSProfile', name, type);
    return found?.status === status && found.reason === reason && words.test(found.message);
  }, `${name}: ${type}=${status} ${reason} ${words}`);
const follow = (spec: object): Promise<unknown> =>
  stage.cluster.apply(apiServer({ tlsSecurityProfile: spec }));
const stampsOf = (name: string): readonly (string | undefined)[] =>
  templates.filter((known) => known.name === name).map(({ stamp }) => stamp);
const allRolled = () => says('follows', 'RolledOut', 'True', 'NothingWaitedFor');
/** What must not change while nothing is rolled out. */
const still = async (): Promise<string> => {
  const kept = await configMap();
  return JSON.stringify([
    kept?.metadata.resourceVersion,
    kept?.data,
    templates,
    (await statusOf('follows'))?.hash,
  ]);
};

describe('A TLSProfile of type OpenShift', () => {
  test('without that API has a condition, and blocks nothing else', async () => {
    await stage.cluster.apply(
      deployment('web', { tls: 'platform' }),
      deployment('api', { tls: 'platform' }),
      deployment('hot', { tls: 'platform' }, { 'handover.dev/reload': 'hot' }),
      deployment('other', {}),
      NET,
      resource('TLSProfile', 'follows', {
        type: 'OpenShift',
        configMapName: 'tls-profile',
        workloadSelector: { matchLabels: { tls: 'platform' } },
      }),
      resource('TLSProfile', 'named', { type: 'Old', configMapName: 'old-profile' }),
    );
    await says('follows', 'Ready', 'False', 'SourceMissing', /no config.openshift.io/);
    await says('named', 'Ready', 'True', 'Written');
    expect(await configMap()).toBeUndefined();
    expect((await profileIn('old-profile')).minTLSVersion).toBe('VersionTLS10');
    await until(async () => operator.operator.waitingFor().length === 0, 'it to be ready');
  });

  test('S1.6 without a configured profile it is Intermediate: 9 ciphers, TLS 1.2, and no restart', async () => {
    // One type more, as a later OpenShift could have.
    await stage.cluster.apply(await apiServerCrd('Bogus'));
    await stage.cluster.kubectl('wait', '--for=condition=Established', 'crd', '--all', '--timeout=60s');
    await stage.cluster.apply(apiServer({}));
    await until(isMinimum('VersionTLS12'), 'Intermediate', 120_000);
    expect((await profileIn()).ciphers).toHaveLength(9);
    await says('follows', 'Degraded', 'False', 'Honored');
    await allRolled();
    expect(await statusOf('follows')).toMatchObject({
      type: 'Intermediate',
      minTLSVersion: 'VersionTLS12',
      hash: files.findLast(({ name }) => name === 'tls-profile')?.hash,
    });
    for (const name of ['web', 'api', 'hot', 'other']) expect(stampsOf(name)).toEqual([undefined]);
  });

  test('S1.4 a change is written before any pod template, and rolls each selected workload once', async () => {
    await until(async () => kubelet.seen.size === 8, 'eight pods', 120_000);
    const before = files.findLast(({ name }) => name === 'tls-profile')?.hash;
    await follow({ type: 'Modern', modern: {} });
    await until(isMinimum('VersionTLS13'), 'Modern');
    await until(async () => stampsOf('web').length === 2 && stampsOf('api').length === 2, 'the stamps');
    await allRolled();
    const written = files.find(({ name, hash }) => name === 'tls-profile' && hash !== before);
    expect(written?.hash).toBe((await statusOf('follows'))?.hash);
    for (const name of ['web', 'api']) {
      expect(stampsOf(name)).toEqual([undefined, written?.hash]);
      const stamped = templates.find((known) => known.name === name && known.stamp !== undefined);
      expect(stamped?.version).toBeGreaterThan(written?.version ?? Number.POSITIVE_INFINITY);
    }
    expect([stampsOf('hot'), stampsOf('other')]).toEqual([[undefined], [undefined]]);
    await until(async () => kubelet.seen.size === 12, 'four new pods', 120_000);
  });

  test('S1.5 an edit of another field changes nothing: each change of the profile is one rollout', async () => {
    const before = files.length;
    await stage.cluster.apply(
      apiServer({
        audit: { profile: 'WriteRequestBodies' },
        tlsSecurityProfile: { type: 'Modern', modern: {} },
      }),
    );
    await stage.cluster.apply(
      apiServer({ audit: { profile: 'None' }, tlsSecurityProfile: { type: 'Modern' } }),
    );
    await follow({ type: 'Intermediate' });
    await until(async () => stampsOf('web').length === 3 && stampsOf('api').length === 3, 'the stamps');
    await allRolled();
    expect(files.slice(before).filter(({ name }) => name === 'tls-profile')).toHaveLength(1);
    expect(new Set(stampsOf('web')).size).toBe(3);
    expect([stampsOf('hot'), stampsOf('other')]).toEqual([[undefined], [undefined]]);
  });

  test.each([
    ['an unknown type', { type: 'Bogus' }, /TLS_PROFILE_UNKNOWN_TYPE.*Bogus/],
    ['Custom without a body', { type: 'Custom' }, /TLS_PROFILE_CUSTOM_EMPTY/],
    [
      'nothing but unknown ciphers',
      { type: 'Custom', custom: { ciphers: ['FOO', 'BAR'], minTLSVersion: 'VersionTLS12' } },
      /TLS_PROFILE_NO_CIPHER/,
    ],
  ])(
    'S1.7 a profile with %s is refused: file, hash and templates stay as they are',
    async (_, spec, words) => {
      const before = await still();
      await follow(spec);
      await says('follows', 'Ready', 'False', 'TLSProfileRefused', words);
      await says('follows', 'Degraded', 'True', 'TLSProfileRefused');
      expect(await still()).toBe(before);
    },
  );

  test('S1.8 a profile with one unknown cipher beside a good one is served, and the unknown one is named', async () => {
    await follow({
      type: 'Custom',
      custom: { ciphers: ['ECDHE-RSA-AES128-GCM-SHA256', 'MADE-UP'], minTLSVersion: 'VersionTLS12' },
    });
    await says('follows', 'Degraded', 'True', 'TLSProfileNotFullyHonored', /MADE-UP/);
    await says('follows', 'Ready', 'True', 'Written');
    expect((await profileIn()).ciphers).toContain('ECDHE-RSA-AES128-GCM-SHA256');
    await allRolled();
  });

  test('S1.9 a profile with suites of TLS 1.3 only, at minimum 1.2, refuses a TLS 1.2 client', async () => {
    await follow({
      type: 'Custom',
      custom: { ciphers: ['TLS_AES_128_GCM_SHA256'], minTLSVersion: 'VersionTLS12' },
    });
    await until(isMinimum('VersionTLS13'), 'the raised minimum');
    const options = JSON.parse((await configMap())?.data?.['node.json'] ?? '') as object;
    expect(await negotiated(options, 'TLSv1.2')).toBe('refused');
    expect(await negotiated(options, 'TLSv1.3')).toBe('TLSv1.3');
    await says('follows', 'Degraded', 'True', 'TLSProfileNotFullyHonored', /minimum raised/);
    await allRolled();
  });
});

/** The protocol that a client limited to one version ends up with. */
const negotiated = async (options: object, version: SecureVersion): Promise<string> => {
  const ca = makeCa(stage.cluster.directory, 'profile-ca', 'profile');
  const { certFile, keyFile } = ca.issue('profile-server', { commonName: 'server', usage: 'server' });
  const pair = { cert: readFileSync(certFile), key: readFileSync(keyFile) };
  const server = createServer({ ...pair, ...options }, (socket) => socket.on('error', () => {}).end('x'));
  server.on('tlsClientError', () => {});
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const result = await new Promise<string>((resolve) => {
    const socket = connect({
      port,
      host: '127.0.0.1',
      rejectUnauthorized: false,
      minVersion: version,
      maxVersion: version,
    });
    socket.on('data', () => resolve(socket.getProtocol() ?? 'none'));
    socket.on('error', () => resolve('refused'));
  });
  server.close();
  return result;
};

test('S1.4 a workload that the selector selects and that does not mount the profile is never rolled, and named', async () => {
  await stage.cluster.apply(
    resource('TLSProfile', 'follows', {
      type: 'OpenShift',
      configMapName: 'tls-profile',
      workloadSelector: {},
    }),
  );
  await says(
    'follows',
    'NotMounted',
    'True',
    'NotRestarted',
    /^DaemonSet default\/net: selected, but without/,
  );
  await follow({ type: 'Old', old: {} });
  await until(isMinimum('VersionTLS10'), 'Old');
  const old = hashIn((await configMap()) as ConfigMap);
  await until(async () => stampsOf('other').at(-1) === old && old !== undefined, 'the stamp');
  await allRolled();
  const net = await stage.kube.get(daemonSets, { namespace: 'default', name: 'net' });
  expect(net?.metadata.generation).toBe(1);
  expect(await statusOf('follows')).toMatchObject({
    notMounted: { count: 1, workloads: ['DaemonSet default/net'] },
  });
  await stage.cluster.kubectl('patch', 'daemonset/net', '--type=json', '-p', MOUNT);
  await says('follows', 'NotMounted', 'False', 'None');
  await stage.cluster.apply(
    resource('TLSProfile', 'follows', {
      type: 'OpenShift',
      configMapName: 'tls-profile',
      workloadSelector: { matchLabels: { tls: 'platform' } },
    }),
  );
});

const MOUNT = JSON.stringify([
  {
    op: 'add',
    path: '/spec/template/spec/volumes',
    value: [{ name: 'tls', configMap: { name: 'tls-profile' } }],
  },
  {
    op: 'add',
    path: '/spec/template/spec/containers/0/volumeMounts',
    value: [{ name: 'tls', mountPath: '/tls' }],
  },
]);

describe('The ConfigMap', () => {
  const restored = (wanted: ConfigMap['data']) =>
    until(async () => JSON.stringify((await configMap())?.data) === JSON.stringify(wanted), 'the repair');

  test('S1.13 a ConfigMap that is edited or deleted is restored, without a restart', async () => {
    const wanted = (await configMap())?.data;
    const before = templates.length;
    for (const [key, value] of [
      ['profile.json', '{}'],
      ['envoy.yaml', 'x: y'],
      ['nginx.conf', null],
    ] as const) {
      await stage.kube.patch(
        configMaps,
        { namespace: 'default', name: 'tls-profile' },
        { merge: { data: { [key]: value } } },
      );
      await restored(wanted);
    }
    await stage.cluster.kubectl('label', 'configmap/tls-profile', 'handover.dev/managed-');
    await until(
      async () => (await configMap())?.metadata.labels?.['handover.dev/managed'] === 'true',
      'the label',
    );
    await stage.cluster.kubectl('delete', 'configmap/tls-profile');
    await restored(wanted);
    // The next change of the profile shows that nothing else was stamped in between.
    await follow({ type: 'Modern' });
    await until(async () => templates.length >= before + 2, 'the stamps');
    await allRolled();
    expect(templates.length).toBe(before + 2);
  });
});

describe('Platform facts', () => {
  const facts = async (namespace: string) => (await configMap('handover-platform', namespace))?.data;

  test('S1.10 a profile outside OpenShift: platform facts are written beside it, for every profile', async () => {
    await until(async () => (await facts('default')) !== undefined, 'the facts');
    expect(await facts('default')).toEqual({
      HANDOVER_PLATFORM: 'kubernetes',
      IS_OPENSHIFT: 'false',
      KUBERNETES_VERSION: expect.stringMatching(/^v1\./),
    });
    await stage.cluster.kubectl('delete', 'configmap/handover-platform');
    await until(async () => (await facts('default'))?.IS_OPENSHIFT === 'false', 'the repair');
  });

  test('S1.10 platform facts name OpenShift on OpenShift, without any TLSProfile', async () => {
    await operator.stop();
    await stage.cluster.apply(await clusterVersionCrd());
    await stage.cluster.kubectl('wait', '--for=condition=Established', 'crd', '--all', '--timeout=60s');
    await setClusterVersion(stage.cluster, '4.20.1');
    await stage.cluster.apply(namespaceObject('plain', { 'handover.dev/platform-facts': 'true' }));
    operator = stage.start('two');
    await until(async () => (await facts('plain')) !== undefined, 'the facts', 120_000);
    expect(await facts('plain')).toMatchObject({
      HANDOVER_PLATFORM: 'openshift',
      IS_OPENSHIFT: 'true',
      OPENSHIFT_VERSION: '4.20.1',
    });
    await until(
      async () => (await facts('default'))?.IS_OPENSHIFT === 'true',
      'the facts beside the profile',
    );
    expect(await facts('handover-system')).toBeUndefined();
  });
});

describe('A Deployment that another operator renders', () => {
  const RESTARTED_AT = 'kubectl.kubernetes.io/restartedAt';
  const at = { namespace: 'default', name: 'rendered' };
  /** What that operator does with annotations of its template. */
  let manner: 'removes at once' | 'removes later' | 'renders the hash' | 'keeps' = 'keeps';
  const rendered = (annotations: object = {}) => deployment('rendered', { tls: 'rendered' }, annotations);
  const annotate = (annotations: Record<string, string | null>) =>
    stage.kube.patch(deployments, at, {
      merge: { spec: { template: { metadata: { annotations } } } },
      fieldManager: 'foreign-operator',
    });
  const removeStamp = () => annotate({ [STAMP]: null, [RESTARTED_AT]: null });
  const profileOf = (type: string) =>
    resource('TLSProfile', 'rendered', {
      type,
      configMapName: 'rendered-tls',
      workloadSelector: { matchLabels: { tls: 'rendered' } },
    });
  const isRolledOut = () => says('rendered', 'RolledOut', 'True', 'NothingWaitedFor');
  const podsSeen = () => [...kubelet.seen.values()].filter((name) => name.startsWith('rendered-')).length;
  const livePods = async () =>
    (await stage.kube.list(pods, { namespace: 'default', labelSelector: 'app=rendered' })).items.length;
  const foreign = new AbortController();
  afterAll(() => foreign.abort());

  beforeAll(async () => {
    const informer = new Informer(stage.kube, deployments, { namespace: 'default' });
    informer.on('changed', ({ after }) => {
      if (after?.metadata.name !== 'rendered' || annotationsIn(after)[STAMP] === undefined) return;
      if (manner === 'removes at once') void removeStamp().catch(() => {});
    });
    await informer.start(foreign.signal).ready;
    await stage.cluster.apply(profileOf('Intermediate'));
    await until(() => configMap('rendered-tls'), 'the file');
    const made = rendered() as { spec: { template: { spec: { volumes: object[] } } } };
    made.spec.template.spec.volumes = [{ name: 'tls', configMap: { name: 'rendered-tls' } }];
    await stage.cluster.apply(made);
    await until(async () => (await livePods()) === 2, 'two pods');
  });

  test('that removes the stamp after the rollout: two rollouts, no third, and it is named as contended', async () => {
    manner = 'removes later';
    await stage.cluster.apply(profileOf('Modern'));
    await until(async () => stampsOf('rendered').length === 2, 'the stamp');
    await isRolledOut();
    await until(async () => podsSeen() === 4 && (await livePods()) === 2, 'two new pods');
    await removeStamp();
    await says(
      'rendered',
      'Contended',
      'True',
      'ForeignManager',
      /Deployment default\/rendered: .* restarts it twice/,
    );
    await until(async () => podsSeen() === 6 && (await livePods()) === 2, 'two pods more');
    await isRolledOut();
    // A pass over the profile, after which a third rollout would have begun.
    await stage.cluster.kubectl('annotate', 'tlsprofile/rendered', 'example.com/look=again');
    await stage.cluster.apply(deployment('unrelated', { tls: 'rendered' }));
    await says('rendered', 'NotMounted', 'True', 'NotRestarted', /Deployment default\/unrelated: selected/);
    const hash = hashIn((await configMap('rendered-tls')) as ConfigMap);
    expect(stampsOf('rendered')).toEqual([undefined, hash, undefined]);
    expect(podsSeen()).toBe(6);
  });

  test('that removes the stamp at once: the rollout is turned back, named, and tried again after a minute', async () => {
    manner = 'removes at once';
    const before = stampsOf('rendered').length;
    await stage.cluster.apply(profileOf('Old'));
    await says(
      'rendered',
      'Contended',
      'True',
      'ForeignManager',
      /Deployment default\/rendered: .* older profile/,
    );
    await says('rendered', 'RolledOut', 'False', 'Waiting', /another program removed its stamp/);
    const said = await until(async () => {
      const all = await stage.cluster.kubectl('get', 'events', '--field-selector=reason=Contended');
      return all.includes('tlsprofile/rendered') && all;
    }, 'the Event');
    expect(said).toContain('Deployment default/rendered');
    const turnedBack = Date.now();
    const hash = hashIn((await configMap('rendered-tls')) as ConfigMap);
    expect(stampsOf('rendered').slice(before)).toEqual([hash, undefined]);
    // Mended: the next stamp stands.
    manner = 'keeps';
    await until(async () => stampsOf('rendered').length === before + 3, 'the second try', 120_000);
    expect(Date.now() - turnedBack).toBeGreaterThan(30_000);
    await isRolledOut();
    expect(stampsOf('rendered').slice(before)).toEqual([hash, undefined, hash]);
    expect(await condition(stage, 'TLSProfile', 'rendered', 'Contended')).toBeUndefined();
  });

  test('that keeps what it did not set, or applies its own fields, leaves the stamp', async () => {
    const made = rendered({ 'example.com/version': '2' }) as {
      spec: { template: { spec: { volumes: object[] } } };
    };
    made.spec.template.spec.volumes = [{ name: 'tls', configMap: { name: 'rendered-tls' } }];
    const stamp = stampsOf('rendered').at(-1);
    await stage.cluster.apply(made);
    await until(async () => {
      const found = await stage.kube.get(deployments, at);
      return found !== undefined && annotationsIn(found)['example.com/version'] === '2';
    }, 'the new template');
    const found = await stage.kube.get(deployments, at);
    expect(found === undefined ? undefined : annotationsIn(found)[STAMP]).toBe(stamp);
  });

  test('that renders the hash of the profile itself is rolled by itself alone', async () => {
    const before = stampsOf('rendered').length;
    await stage.cluster.apply(profileOf('Intermediate'));
    const old = stampsOf('rendered').at(-1);
    await until(async () => {
      const hash = (await statusOf('rendered'))?.hash;
      if (hash === undefined || hash === old) return false;
      await annotate({ [STAMP]: hash });
      return true;
    }, 'the new hash');
    await isRolledOut();
    expect(stampsOf('rendered')).toHaveLength(before + 1);
    expect(stampsOf('rendered').at(-1)).toBe((await statusOf('rendered'))?.hash);
  });
});

test('the recipe does what it says', async () => {
  const recipe = readFileSync(new URL('../../../../docs/recipes/tls-profile.md', import.meta.url), 'utf8');
  const blocks = (language: string): readonly string[] =>
    [...recipe.matchAll(new RegExp(`\`\`\`${language}\\n([^\`]*)\`\`\``, 'g'))].map(([, text]) => text ?? '');
  const [profile = '', workload = ''] = blocks('yaml');
  await stage.cluster.apply(parse(profile) as object);
  await until(() => configMap('shop-tls'), 'the file');
  await stage.cluster.apply(parse(workload) as object);
  await stage.cluster.kubectl('rollout', 'status', 'deployment/shop', '--timeout=120s');
  const [, ...changes] = blocks('sh');
  const lines = changes.join('').trim().split('\n');
  expect(lines).toHaveLength(5);
  for (const line of lines) {
    const [command, ...args] = line.split(' ');
    expect(command).toBe('kubectl');
    await stage.cluster.kubectl(...args.map((word) => word.replaceAll("'", '')));
  }
  expect(stampsOf('shop')).toEqual([undefined, hashIn((await configMap('shop-tls')) as ConfigMap)]);
});

test('the operator makes no request that the installation does not allow, and uses the rights granted for this', () => {
  const granted = grantsFor({ namespace: 'handover-system', features: ['openshift'] });
  const asked: ApiRequest[] = stage.requests
    .filter(({ resource: kind }) => kind !== '' && kind !== 'leases')
    .map(({ verb, group, resource: kind, subresource, namespace, name }) => ({
      verb: verb === 'apply' ? 'patch' : verb,
      group,
      resource: kind,
      ...(subresource === '' ? {} : { subresource }),
      ...(namespace === '' ? {} : { namespace }),
      // A watch of one object by its name is authorized by that name.
      ...(kind === 'apiservers' ? { name: 'cluster' } : name === '' ? {} : { name }),
    }));
  expect(stage.requests.filter(({ status }) => status === 403)).toEqual([]);
  expect(asked.filter((request) => !allowed(granted, request))).toEqual([]);
  const own = granted.filter(({ group }) => group === 'config.openshift.io');
  expect(unused(own, asked).filter((right) => !right.startsWith('list '))).toEqual([]);
});
