import type { Responsibilities } from '@handover/engine';
import { expect, test } from 'vitest';
import { EVERYTHING, type Reference, referencesOf } from './references.ts';
import { managedBy, useOf } from './use.ts';

const LEAF = 'default/secrets/web';
const GONE = 'default/secrets/gone';
const BUNDLE = 'default/configmaps/java/ca.crt';

const kept = {
  leaves: new Map([[LEAF, {}]]),
  bundles: new Map([[BUNDLE, {}]]),
  outputs: new Map([
    [
      LEAF,
      [
        { name: 'web.p12', content: 'identity' },
        { name: 'trust.p12', content: 'trust' },
      ],
    ],
    [BUNDLE, [{ name: 'trust.jks', content: 'trust' }]],
  ]),
} as unknown as Responsibilities;

const used = (plural: Reference['plural'], name: string, ...keys: readonly string[]) => {
  const references = [{ plural, name, keys: keys.length === 0 ? undefined : keys, frozen: false }];
  const use = useOf({ namespace: 'default', references }, managedBy(kept, [GONE]));
  return use === undefined ? undefined : { presents: [...use.presents], verifies: [...use.verifies] };
};

test('a pod that mounts a keystore alone presents the leaf in it, and one that mounts a truststore trusts its CAs', () => {
  expect(used('secrets', 'web', 'web.p12')).toEqual({ presents: [LEAF], verifies: [] });
  expect(used('secrets', 'web', 'trust.p12')).toEqual({ presents: [], verifies: [LEAF] });
  expect(used('configmaps', 'java', 'trust.jks')).toEqual({ presents: [], verifies: [BUNDLE] });
  expect(used('secrets', 'web')).toEqual({ presents: [LEAF], verifies: [LEAF] });
});

test('a pod that mounts a key of another program is no consumer', () => {
  expect(used('secrets', 'web', 'dhparam.pem')).toBeUndefined();
  expect(used('configmaps', 'java', 'settings')).toBeUndefined();
});

test('every key but ca.crt may hold the leaf in a Secret that no Leaf asks for any more', () => {
  expect(used('secrets', 'gone', 'old.p12')).toEqual({ presents: [GONE], verifies: [] });
  expect(used('secrets', 'gone', 'ca.crt')).toEqual({ presents: [], verifies: [GONE] });
});

test('a pod whose references are not all known reads everything in its namespace, and nothing elsewhere', () => {
  const envFrom = Array.from({ length: 200 }, (_, i) => ({ secretRef: { name: `s${i}`.padEnd(253, 's') } }));
  const references = referencesOf({ metadata: {}, spec: { containers: [{ envFrom }] } });
  expect(references).toBe(EVERYTHING);
  const use = useOf({ namespace: 'default', references }, managedBy(kept, [GONE]));
  expect(use?.frozen).toBe(true);
  expect([...(use?.presents ?? [])]).toEqual([LEAF, GONE]);
  expect([...(use?.verifies ?? [])]).toEqual([LEAF, GONE, BUNDLE]);
  expect(useOf({ namespace: 'other', references }, managedBy(kept, [GONE]))).toBeUndefined();
});
