import { readFileSync } from 'node:fs';
import { statusOf } from '@handover/engine';
import { crds } from '@handover/install';
import { openView } from '@handover/operator';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Stage, setStage } from './stage.ts';

let stage: Stage;
beforeAll(async () => {
  stage = await setStage({ crds: false });
}, 300_000);
afterAll(() => stage?.stop());

const PAGE = readFileSync(new URL('../../../../docs/install.md', import.meta.url), 'utf8');
/** Runs the one command of docs/install.md that has these words. */
const says = (...words: readonly string[]): Promise<string> => {
  const [line, ...more] = PAGE.split('\n').filter(
    (one) => one.startsWith('kubectl ') && words.every((word) => one.includes(word)),
  );
  if (line === undefined || more.length > 0) throw new Error(`docs/install.md: ${words.join()}`);
  const [, ...args] = (line.match(/(?:'[^']*'|[^\s'])+/g) ?? []).map((part) => part.replaceAll("'", ''));
  return stage.cluster.kubectl(...args);
};

/** The definitions as they were when `settle` had no other name. */
const oldCrds = (): readonly object[] => {
  const copy = structuredClone(crds()) as unknown as readonly {
    spec: {
      versions: readonly {
        schema: {
          openAPIV3Schema: {
            properties: { spec: { properties: Record<string, { properties?: Record<string, unknown> }> } };
          };
        };
      }[];
    };
  }[];
  for (const { spec } of copy)
    for (const { schema } of spec.versions) {
      const { rotation } = schema.openAPIV3Schema.properties.spec.properties;
      if (rotation?.properties === undefined) continue;
      delete rotation.properties.reloadWithin;
      Reflect.deleteProperty(rotation, 'x-kubernetes-validations');
    }
  return copy;
};

const authority = (name: string, spec: object): object => ({
  apiVersion: 'handover.dev/v1alpha1',
  kind: 'Authority',
  metadata: { name, namespace: 'shop' },
  spec,
});
const rotation = (name: string): Promise<string> =>
  stage.cluster.kubectl('-n', 'shop', 'get', 'authority', name, '-o', 'jsonpath={.spec.rotation}');
const unusable = async () => {
  const end = new AbortController();
  try {
    const { read } = await openView({
      kube: stage.kube,
      namespace: 'handover-system',
      signal: end.signal,
    });
    return (await statusOf(read)).unusable.map(({ kind, id, message }) => `${kind} ${id}: ${message}`);
  } finally {
    end.abort();
  }
};

test('Authorities with the old name of reloadWithin are found and renamed as docs/install.md says, and named if they are not', async () => {
  const { cluster } = stage;
  await cluster.apply(...oldCrds());
  await cluster.kubectl('wait', '--for=condition=Established', 'crd', '--all', '--timeout=60s');
  await cluster.kubectl('create', 'namespace', 'shop');
  await cluster.apply(
    authority('mesh', { rotation: { settle: '5m' } }),
    authority('forgotten', { rotation: { settle: '7m' } }),
    authority('other', {}),
  );
  expect((await says('get authorities', 'settle')).trim().split('\n').sort()).toEqual([
    'shop forgotten 7m',
    'shop mesh 5m',
  ]);
  await says('"op":"remove"', 'settle');
  await cluster.apply(...crds());
  expect(await unusable()).toEqual([
    'Authority shop/forgotten: spec.rotation.settle: is now called reloadWithin; rename the field',
  ]);
  await says('reloadWithin', '--type merge');
  expect(JSON.parse(await rotation('mesh'))).toMatchObject({ reloadWithin: '5m' });
  const page = PAGE.split('\n').find((line) => line.includes('"op":"move"')) ?? '';
  const patch = /-p '([^']*)'/.exec(page)?.[1] ?? '';
  await cluster.kubectl('-n', 'shop', 'patch', 'authority', 'forgotten', '--type', 'json', '-p', patch);
  expect(JSON.parse(await rotation('forgotten'))).toMatchObject({ reloadWithin: '7m' });
  expect(await unusable()).toEqual([]);
});
