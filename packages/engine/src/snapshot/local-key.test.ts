import { readdirSync, readFileSync } from 'node:fs';
import { inspect } from 'node:util';
import { generateKey } from '@handover/core';
import { PrivateKey } from '@handover/material';
import { expect, test } from 'vitest';
import { dealKey } from '../../test/world.ts';
import { formatAuthority, type IssuedLeaf, type KeyRef, localKeyring, parseAuthority } from '../index.ts';

const ID = 'default/mesh';
/** Written by the version before there was a keyring, in the middle of a rotation. */
const STATE = readFileSync(new URL('../../test/fixtures/authority-1.state', import.meta.url), 'utf8');
const keysIn = (text: string): readonly string[] => Object.values<string>(JSON.parse(text).keys);

test('a state from before the keyring reads, signs, and is written back byte by byte', async () => {
  const record = parseAuthority(ID, STATE, 'state.json');
  expect([...record.keys.keys()]).toEqual([1, 2]);
  expect(formatAuthority(ID, record)).toBe(STATE);
  for (const { number, anchors } of record.state.generations) {
    const [key, ca] = [record.keys.get(number), record.certificates.get(anchors[0].fingerprint)];
    if (key === undefined || ca === undefined) throw new Error(`generation ${number} is not whole`);
    const { publicKey } = await localKeyring(dealKey).open(key);
    expect(key.matches(ca)).toBe(true);
    expect(Buffer.from(ca.der).includes(publicKey.export({ type: 'spki', format: 'der' }))).toBe(true);
  }
});

test('a state from before there were seals has the seal key that follows from its newest CA key', () => {
  const { sealKey: _, ...old } = JSON.parse(STATE);
  const { sealKey } = parseAuthority(ID, JSON.stringify(old), 'state.json');
  expect(sealKey.export()).toBe('1hpbISqPHMwVq-dK9OmIhEBItUYC4IRjOWZ6QJ0vHQ8');
});

test('a CA key prints nothing of itself, in a record or alone', async () => {
  const { keys } = parseAuthority(ID, STATE, 'state.json');
  const ref = await localKeyring(dealKey).create({ algorithm: 'ECDSA-P256', share: '' });
  const printed = [inspect(ref, { showHidden: true, depth: null }), `${ref}`, JSON.stringify({ ref })];
  expect(printed).toEqual(['[private key]', '[private key]', '{"ref":"[private key]"}']);
  const texts = [inspect(keys, { showHidden: true, depth: null }), JSON.stringify([...keys])].join('');
  for (const pem of keysIn(STATE))
    for (const line of pem.split('\n')) if (line) expect(texts).not.toContain(line);
  expect(Object.entries(ref)).toEqual([['kind', 'local']]);
});

test('a CA key and a leaf key cannot stand in for each other: the code would not compile', () => {
  const leafKey = PrivateKey.of(generateKey('ECDSA-P256').privateKey);
  const misplaced = (caKey: KeyRef, certificate: IssuedLeaf['certificate']): unknown => [
    // @ts-expect-error: a Secret takes no CA key
    { certificate, key: caKey } satisfies IssuedLeaf,
    // @ts-expect-error: a state takes no leaf key
    new Map([[1, leafKey]]) satisfies ReadonlyMap<number, KeyRef>,
    // @ts-expect-error: no PEM
    caKey.exportPem,
    // @ts-expect-error: no KeyObject
    caKey.key,
  ];
  expect(misplaced).toBeTypeOf('function');
});

test('only the state file takes a CA key out of its reference', () => {
  const source = new URL('../', import.meta.url);
  const importers = readdirSync(source, { recursive: true, encoding: 'utf8' }).filter(
    (path) => /(?<!\.test)\.ts$/.test(path) && /\bpemOf\b/.test(readFileSync(new URL(path, source), 'utf8')),
  );
  expect(importers.sort()).toEqual(['snapshot/authority-file.ts', 'snapshot/local-key.ts']);
});
