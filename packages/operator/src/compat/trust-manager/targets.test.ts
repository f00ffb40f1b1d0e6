import { bytesOf, instant } from '@handover/material';
import { expect, test } from 'vitest';
import { joined, newCas } from '../../../test/trust-manager/world.ts';
import { parseDefaultCas } from './default-cas.ts';
import { certificatesIn, poolOf, sha256 } from './pool.ts';
import { bodyOf, contentOf, isRight, targetSeen, tooLarge } from './targets.ts';

const cas = await newCas(instant(Date.UTC(2030, 0, 1)));
const pool = poolOf(certificatesIn(cas.join('# a comment\n'), 'test'));
const bundle = { name: 'mesh', uid: 'u1' };
const place = { kind: 'ConfigMap', namespace: 'shop', name: 'mesh' } as const;

test('a pool has each certificate once, ordered by hash, without comments and without a last line end', () => {
  expect(pool.pem).toBe(joined(...cas));
  expect(poolOf(certificatesIn([...cas, ...cas].reverse().join('\r\n'), 'test')).pem).toBe(pool.pem);
});

test('a text without certificates gives none, and damaged PEM is named with its place', () => {
  expect(certificatesIn('', 'x')).toEqual([]);
  expect(certificatesIn('words', 'x')).toEqual([]);
  expect(() => certificatesIn(cas[0].slice(0, 100), 'ConfigMap a/b')).toThrow(/^ConfigMap a\/b: /);
});

test('the hash of a target is trust-manager’s: of the PEM, the passwords, the profile and the metadata in order', () => {
  const template = { key: 'ca.crt', metadata: { labels: { b: '2', a: '1' }, annotations: { z: '0' } } };
  const formats = {
    jks: { key: 'j', password: 'changeit' },
    pkcs12: { key: 'p', password: 'pw', profile: 'LegacyDES' },
  } as const;
  expect(contentOf(pool, template, formats).hash).toBe(sha256(`${pool.pem}changeitpwLegacyDESz0a1b2`));
  expect(contentOf(pool, { key: 'ca.crt' }).hash).toBe(sha256(pool.pem));
});

/** As a watch shows a target that trust-manager, or Handover, has written. */
const written = (manager = 'trust-manager') => {
  const content = contentOf(pool, { key: 'ca.crt', metadata: { labels: { team: 'a' } } });
  const { metadata } = bodyOf(place, bundle, undefined, content);
  const fieldsV1 = { 'f:data': { '.': {}, 'f:ca.crt': {} }, 'f:metadata': { 'f:labels': { 'f:team': {} } } };
  return {
    content,
    object: { metadata: { ...metadata, uid: 'u2', managedFields: [{ manager, fieldsV1 }] } },
  };
};

test('a target as trust-manager left it is right, and is not written', () => {
  const { content, object } = written();
  expect(isRight(targetSeen('ConfigMap', object), content, bundle)).toBe(true);
});

test('a target is wrong when another program owns its key, or its owner, label, hash or metadata differ', () => {
  const { content, object } = written();
  const { metadata } = object;
  const wrong = [
    written('somebody').object,
    { metadata: { ...metadata, ownerReferences: [] } },
    { metadata: { ...metadata, labels: { ...metadata.labels, 'trust.cert-manager.io/bundle': 'other' } } },
    { metadata: { ...metadata, labels: { ...metadata.labels, team: 'b' } } },
    { metadata: { ...metadata, annotations: { 'trust.cert-manager.io/hash': 'other' } } },
  ];
  for (const one of wrong) expect(isRight(targetSeen('ConfigMap', one), content, bundle)).toBe(false);
  expect(isRight(targetSeen('ConfigMap', object), content, { ...bundle, uid: 'of a Bundle made anew' })).toBe(
    false,
  );
});

test('a target that is too large for a ConfigMap is refused with its size', () => {
  expect(tooLarge(contentOf(pool, { key: 'ca.crt' }))).toBeUndefined();
  const large = { certificates: pool.certificates, pem: 'x'.repeat(1_000_001) };
  expect(tooLarge(contentOf(large, { key: 'ca.crt' }))).toContain('1000001 bytes');
});

test('default CAs are PEM, or a package of trust-manager, and their version tells contents apart', () => {
  const pem = parseDefaultCas(cas[0], 'file');
  expect(pem.version).toMatch(/^default-cas-pem-[0-9a-f]{16}$/);
  expect(parseDefaultCas(cas[1], 'file').version).not.toBe(pem.version);
  const packed = JSON.stringify({ name: 'debian', version: '12', bundle: cas[0] });
  expect(parseDefaultCas(packed, 'file')).toEqual({
    ...pem,
    version: `debian-12-${sha256(bytesOf(cas[0])).slice(0, 16)}`,
  });
  for (const bad of ['{', '{}', '[]', '', 'words'])
    expect(() => parseDefaultCas(bad, 'file')).toThrow(/^file /);
});

test('the cache keeps no more of a labelled object than is compared, however large the object is', () => {
  const { content, object } = written();
  const { metadata } = object;
  const long = 'x'.repeat(200_000);
  const many = Object.fromEntries(Array.from({ length: 10_000 }, (_, index) => [`a${index}`, '']));
  const fieldsV1 = { 'f:data': Object.fromEntries(Object.keys(many).map((key) => [`f:${key}`, {}])) };
  const kept = (more: object): number => {
    const { marks, ...seen } = targetSeen('ConfigMap', { metadata: { ...metadata, ...more } });
    return JSON.stringify([seen, ...(marks ?? [])]).length;
  };
  const most = 6_000;
  expect(kept({ annotations: { ...metadata.annotations, long } })).toBeLessThan(most);
  expect(kept({ annotations: { 'trust.cert-manager.io/hash': long } })).toBeLessThan(most);
  expect(kept({ annotations: many })).toBeLessThan(most);
  expect(kept({ labels: many })).toBeLessThan(most);
  expect(kept({ managedFields: [{ manager: 'trust-manager', fieldsV1 }] })).toBeLessThan(most);
  // Beside many others, the labels of the Bundle are taken for right by its hash.
  const crowded = { metadata: { ...metadata, annotations: { ...metadata.annotations, ...many } } };
  expect(isRight(targetSeen('ConfigMap', crowded), content, bundle)).toBe(true);
});

test('an adopted target, and one that holds data of others and has no owner, gets no owner reference; trust-manager’s own keeps it', () => {
  const { content, object } = written();
  const { metadata } = object;
  const others = {
    managedFields: [
      ...metadata.managedFields,
      { manager: 'a-person', fieldsV1: { 'f:data': { 'f:mine': {} } } },
    ],
  };
  const adopted = { labels: { ...metadata.labels, 'handover.dev/adopt': 'true' } };
  const judged = (more: object) => {
    const seen = targetSeen('ConfigMap', { metadata: { ...metadata, ...more } });
    const owned = bodyOf(place, bundle, seen, content).metadata.ownerReferences !== undefined;
    return { owned, right: isRight(seen, content, bundle) };
  };
  expect(judged({})).toEqual({ owned: true, right: true });
  expect(judged({ ownerReferences: [] })).toEqual({ owned: true, right: false });
  expect(judged(others)).toEqual({ owned: true, right: true });
  expect(judged({ ...others, ownerReferences: [] })).toEqual({ owned: false, right: true });
  expect(judged(adopted)).toEqual({ owned: false, right: false });
  expect(judged({ ...adopted, ownerReferences: [] })).toEqual({ owned: false, right: true });
});

test('an object is a target by its label, its owner or its hash; with the label of another Bundle the hash does not count', () => {
  const { metadata } = written().object;
  const { ownerReferences, annotations } = metadata;
  const label = (value: string) => ({ 'trust.cert-manager.io/bundle': value });
  const holder = (more: object) => targetSeen('ConfigMap', { metadata: { name: 'mesh', ...more } }).holder;
  expect(holder({})).toBe('foreign');
  expect(holder({ labels: label('mesh') })).toBe('bundle');
  expect(holder({ labels: label('other') })).toBe('foreign');
  expect(holder({ annotations })).toBe('bundle');
  expect(holder({ annotations, labels: label('other') })).toBe('foreign');
  expect(holder({ ownerReferences, labels: label('other') })).toBe('bundle');
  expect(holder({ labels: { ...label('other'), 'handover.dev/adopt': 'true' } })).toBe('bundle');
  const kept = { 'handover.dev/managed': 'true', 'handover.dev/adopt': 'true', ...label('mesh') };
  expect(holder({ labels: kept, annotations, ownerReferences })).toBe('handover');
});
