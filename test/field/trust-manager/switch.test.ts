// The switch: trust-manager stops, Handover with --compat trust-manager begins, and no target is written for it.
// Against: trust-manager 0.25 in a pod on a real node, then our operator with the rights and policies of its installation.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { makeCa } from '@handover/test-cluster';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Unmet, until } from '../../../packages/operator/test/cluster/stage.ts';
import { type RotationStage, setRotationStage } from '../../../packages/operator/test/rotation/stage.ts';
import { checkStore } from '../../../packages/operator/test/trust-manager/stores.ts';
import { startCertManager } from '../cert-manager/cert-manager.ts';
import { type BundleSpec, bundle, startTrustManager, TRUST_NAMESPACE } from './trust-manager.ts';

const ROLE = { 'example.com/role': 'ca' };
const KEY = 'ca.crt';
const SOURCE = { configMap: { name: 'source', key: KEY } };
const CONFIG_MAP = { configMap: { key: KEY } };
const STORES = {
  jks: { key: 'trust.jks', password: 'an-own-one' },
  pkcs12: { key: 'trust.p12' },
};

let stage: RotationStage;
let packaged: string;
const ca = (name: string): string => makeCa(stage.cluster.directory, name, name).pem.trim();

beforeAll(async () => {
  stage = await setRotationStage(
    {},
    { install: { compat: ['trust-manager'], secretTargets: true, trustNamespace: TRUST_NAMESPACE } },
  );
  const defaultCas = ca('default');
  packaged = join(stage.cluster.directory, 'package.json');
  writeFileSync(packaged, JSON.stringify({ name: 'default-cas', version: '1', bundle: defaultCas }));
  await startCertManager(stage.cluster);
  await startTrustManager(stage.cluster, defaultCas);
}, 1_800_000);
afterAll(() => stage?.stop());

const source = (kind: 'ConfigMap' | 'Secret', name: string, pem: string, labels = {}): object => ({
  apiVersion: 'v1',
  kind,
  metadata: { name, namespace: TRUST_NAMESPACE, labels },
  ...(kind === 'Secret' ? { stringData: { [KEY]: pem } } : { data: { [KEY]: pem } }),
});

const bundlesOf = (pem: string): Readonly<Record<string, BundleSpec>> => ({
  plain: { sources: [SOURCE, { inLine: pem }], target: CONFIG_MAP },
  defaults: { sources: [{ useDefaultCAs: true }, SOURCE], target: CONFIG_MAP },
  stores: {
    sources: [SOURCE, { secret: { name: 'kept', key: KEY } }],
    target: { ...CONFIG_MAP, additionalFormats: STORES },
  },
  modern: {
    sources: [SOURCE, { inLine: pem }],
    target: { ...CONFIG_MAP, additionalFormats: { pkcs12: { ...STORES.pkcs12, profile: 'Modern2023' } } },
  },
  selected: {
    sources: [{ configMap: { selector: { matchLabels: ROLE }, includeAllKeys: true } }],
    target: {
      ...CONFIG_MAP,
      namespaceSelector: { matchExpressions: [{ key: 'example.com/none', operator: 'DoesNotExist' }] },
    },
  },
  hidden: { sources: [SOURCE], target: { secret: { key: KEY }, additionalFormats: STORES } },
  both: {
    sources: [SOURCE, { useDefaultCAs: true }],
    target: {
      configMap: { key: KEY, metadata: { labels: { team: 'shop' }, annotations: { note: 'kept' } } },
      secret: { key: KEY },
    },
  },
});

interface Found {
  readonly kind: string;
  readonly metadata: { name: string; namespace: string; resourceVersion: string; generation?: number };
  readonly data?: Readonly<Record<string, string>>;
  readonly binaryData?: Readonly<Record<string, string>>;
  readonly status?: { readonly conditions?: readonly { status: string; observedGeneration: number }[] };
}

const get = async (...words: readonly string[]): Promise<readonly Found[]> => {
  const found = await stage.cluster.kubectl('get', ...words, '-o', 'json');
  return (JSON.parse(found) as { readonly items: readonly Found[] }).items;
};

const targets = async (): Promise<ReadonlyMap<string, Found>> =>
  new Map(
    (await get('configmaps,secrets', '-A', '-l', 'trust.cert-manager.io/bundle')).map((target) => [
      `${target.kind} ${target.metadata.namespace}/${target.metadata.name}`,
      target,
    ]),
  );

const statuses = async (): Promise<Readonly<Record<string, Found['status']>>> =>
  Object.fromEntries((await get('bundles')).map(({ metadata, status }) => [metadata.name, status]));

const allSynced = async (): Promise<true | Unmet> => {
  const found = await get('bundles');
  const left = found.filter(({ metadata, status }) => {
    const [condition] = status?.conditions ?? [];
    return condition?.status !== 'True' || condition.observedGeneration !== metadata.generation;
  });
  return left.length === 0 || new Unmet(left.map(({ metadata, status }) => [metadata.name, status]));
};

const pemOf = ({ kind, data = {} }: Found): string =>
  kind === 'Secret' ? Buffer.from(data[KEY] ?? '', 'base64').toString() : (data[KEY] ?? '');

/** A namespace gets its targets by a pass over each Bundle, which looks at all its other targets too. */
const passOver = async (namespace: string): Promise<void> => {
  const wanted = Object.values(bundlesOf('')).reduce((sum, { target }) => {
    return sum + ('configMap' in target ? 1 : 0) + ('secret' in target ? 1 : 0);
  }, 0);
  await stage.cluster.kubectl('create', 'namespace', namespace);
  await until(
    async () => {
      const there = [...(await targets()).keys()].filter((id) => id.includes(` ${namespace}/`));
      return there.length === wanted || new Unmet(there);
    },
    `all targets in ${namespace}`,
    120_000,
  );
};

test('Bundles stay synced, no target is written at the switch, and all of them follow a source', async () => {
  const [first, second, kept] = [ca('first'), ca('second'), ca('kept')];
  await stage.cluster.apply(
    source('ConfigMap', 'source', first, ROLE),
    source('ConfigMap', 'other', kept, ROLE),
    source('Secret', 'kept', kept),
    ...Object.entries(bundlesOf(kept)).map(([name, spec]) => bundle(name, spec)),
  );
  await passOver('before');
  await until(allSynced, 'trust-manager to sync every Bundle', 120_000);
  await stage.cluster.kubectl('-n', TRUST_NAMESPACE, 'scale', 'deployment/trust-manager', '--replicas=0');
  await stage.cluster.kubectl(
    ...['-n', TRUST_NAMESPACE, 'wait', '--for=delete', 'pod', '-l', 'app=trust-manager', '--timeout=120s'],
  );
  const [before, said] = [await targets(), await statuses()];

  stage.startOperator(
    ...['--compat', 'trust-manager', '--secret-targets', '--default-cas', packaged],
    ...['--trust-namespace', TRUST_NAMESPACE],
  );
  // The second begins when the first is over: by then each Bundle was looked at whole.
  await passOver('after');
  await passOver('after-that');
  await until(allSynced, 'every Bundle to be synced', 60_000);
  const after = await targets();
  const rewritten = [...before].flatMap(([id, { metadata, data, binaryData }]) => {
    const now = after.get(id);
    if (now?.metadata.resourceVersion === metadata.resourceVersion) return [];
    return [{ id, before: { metadata, data, binaryData }, now }];
  });
  expect(rewritten).toEqual([]);
  expect(await statuses()).toEqual(said);

  await stage.cluster.apply(source('ConfigMap', 'source', second, ROLE));
  const moved = await until(
    async () => {
      const now = await targets();
      const old = [...now].filter(([, target]) => !pemOf(target).includes(second)).map(([id]) => id);
      return old.length === 0 ? now : new Unmet(old);
    },
    'all targets to follow',
    120_000,
  );
  expect([...moved.keys()].sort()).toEqual([...after.keys()].sort());
  for (const [id, target] of moved) expect(pemOf(target), id).not.toContain(first);
  const { binaryData = {} } = moved.get('ConfigMap default/stores') ?? {};
  checkStore('jks', Buffer.from(binaryData['trust.jks'] ?? '', 'base64'), 'an-own-one', 2);
  checkStore('pkcs12', Buffer.from(binaryData['trust.p12'] ?? '', 'base64'), '', 2);
  await until(allSynced, 'every Bundle to be synced', 60_000);
}, 900_000);
