import fc from 'fast-check';
import { expect, test } from 'vitest';
import { isReloaderImage, reloaderRestarts } from './reloader.ts';

const secret = (name = 'web-tls', annotations = {}) => ({ plural: 'secrets', name, annotations }) as const;
const configMap = (name = 'trust', annotations = {}) =>
  ({ plural: 'configmaps', name, annotations }) as const;
const R = 'reloader.stakater.com';

test.each([
  ['auto', { [`${R}/auto`]: 'true' }, true, true],
  ['auto of Secrets', { [`secret.${R}/auto`]: 'true' }, true, false],
  ['auto of ConfigMaps', { [`configmap.${R}/auto`]: 'true' }, false, true],
  ['auto turned off', { [`${R}/auto`]: 'false' }, false, false],
  ['auto as Go reads it', { [`${R}/auto`]: 'T' }, true, true],
  ['auto that is no truth', { [`${R}/auto`]: 'yes' }, false, false],
  ['a named Secret', { [`secret.${R}/reload`]: 'other, web-tls' }, true, false],
  ['a named ConfigMap', { [`configmap.${R}/reload`]: 'trust' }, false, true],
  ['a ConfigMap under the name of the Secret', { [`configmap.${R}/reload`]: 'web-tls' }, false, false],
  ['a name that only begins alike', { [`secret.${R}/reload`]: 'web' }, false, false],
  ['a pattern', { [`secret.${R}/reload`]: 'web-.*' }, true, false],
  ['a name although auto is off', { [`${R}/auto`]: 'false', [`secret.${R}/reload`]: 'web-tls' }, true, false],
  [
    'auto without what is excluded',
    { [`${R}/auto`]: 'true', [`secrets.exclude.${R}/reload`]: 'web-tls' },
    false,
    true,
  ],
  [
    'auto without an excluded ConfigMap',
    { [`${R}/auto`]: 'true', [`configmaps.exclude.${R}/reload`]: 'x,trust' },
    true,
    false,
  ],
  ['a workload that is to be ignored', { [`${R}/auto`]: 'true', [`${R}/ignore`]: 'true' }, false, false],
  ['search without a match', { [`${R}/search`]: 'true' }, false, false],
  ['nothing', {}, false, false],
])(
  'Reloader’s annotations say which objects restart a workload: %s',
  (_, annotations, forSecret, forConfigMap) => {
    expect(reloaderRestarts(annotations, {}, secret())).toBe(forSecret);
    expect(reloaderRestarts(annotations, {}, configMap())).toBe(forConfigMap);
  },
);

test('Reloader’s search restarts a workload for objects with match, and for no other', () => {
  const words = { [`${R}/search`]: 'true' };
  expect(reloaderRestarts(words, {}, secret('a', { [`${R}/match`]: 'true' }))).toBe(true);
  expect(reloaderRestarts(words, {}, configMap('a', { [`${R}/match`]: 'true' }))).toBe(true);
  expect(reloaderRestarts(words, {}, secret('a', { [`${R}/match`]: 'false' }))).toBe(false);
  expect(reloaderRestarts({}, {}, secret('a', { [`${R}/match`]: 'true' }))).toBe(false);
});

test('an object that Reloader ignores restarts no workload', () => {
  const ignored = secret('web-tls', { [`${R}/ignore`]: 'true', [`${R}/match`]: 'true' });
  for (const words of [
    { [`${R}/auto`]: 'true' },
    { [`secret.${R}/reload`]: 'web-tls' },
    { [`${R}/search`]: 'true' },
  ])
    expect(reloaderRestarts(words, {}, ignored)).toBe(false);
});

test('Reloader’s annotations on the pods count where the workload has none', () => {
  expect(reloaderRestarts({}, { [`${R}/auto`]: 'true' }, secret())).toBe(true);
  expect(reloaderRestarts({ [`${R}/auto`]: 'false' }, { [`${R}/auto`]: 'true' }, secret())).toBe(false);
});

test('Reloader’s annotations with any text get an answer', () => {
  const names = [
    `${R}/auto`,
    `${R}/search`,
    `secret.${R}/reload`,
    `secret.${R}/auto`,
    `secrets.exclude.${R}/reload`,
  ];
  const words = fc.dictionary(fc.constantFrom(...names), fc.string({ unit: 'binary' }));
  fc.assert(
    fc.property(words, words, fc.string(), (workload, pods, name) => {
      expect(typeof reloaderRestarts(workload, pods, secret(name))).toBe('boolean');
      // A name in full is always found.
      expect(reloaderRestarts({ [`secret.${R}/reload`]: 'x, web.tls ' }, pods, secret('web.tls'))).toBe(true);
    }),
  );
  const long = 'a'.repeat(250);
  expect(reloaderRestarts({ [`secret.${R}/reload`]: `${'(a+.*)+.*'.repeat(200)}b` }, {}, secret(long))).toBe(
    false,
  );
});

test.each([
  ['ghcr.io/stakater/reloader:v1.4.2', true],
  ['stakater/reloader', true],
  ['mirror.example/dockerhub/stakater/reloader-ubi@sha256:00', true],
  ['example.com/reloader:1', false],
  ['example.com/notstakater/reloader:1', false],
  ['stakater/reloader-exporter:1', false],
])('the image %s is Reloader: %s', (image, is) => {
  expect(isReloaderImage(image)).toBe(is);
});
