import { describe, expect, it } from 'vitest';
import {
  authority,
  crossSign,
  DAY,
  general,
  type Issued,
  issue,
  leafOf,
  NOW,
  nameOf,
  p256,
  printableName,
  rsa,
} from '../test/mock-ca.ts';
import { type Certificate, instant, type Purpose, verifyChain } from './index.ts';

const of = (...issued: readonly Issued[]): Certificate[] => issued.map(({ certificate }) => certificate);
const at = instant(NOW);
const verdict = (
  chain: readonly Issued[],
  anchors: readonly Issued[],
  purpose: Purpose = 'server',
  when = at,
): string => {
  const result = verifyChain({ chain: of(...chain), anchors: of(...anchors), at: when, purpose });
  return result.ok ? 'ok' : `${result.code} at ${result.depth}`;
};

describe('a rotation with cross-signing', () => {
  const one = authority('mesh 1');
  const two = authority('mesh 2');
  const three = authority('mesh 3');
  const x21 = crossSign(two, one);
  const x32 = crossSign(three, two);
  const leaf1 = leafOf(one, 'a');
  const leaf2 = leafOf(two, 'a');
  const leaf3 = leafOf(three, 'a');

  it('a rotation with cross-signing accepts a leaf against the CA that issued it and no other', () => {
    expect(verdict([leaf1], [one])).toBe('ok');
    expect(verdict([leaf1], [two, one])).toBe('ok');
    expect(verdict([leaf2], [one])).toBe('UNABLE_TO_GET_ISSUER_CERT_LOCALLY at 0');
  });

  it('a rotation with cross-signing accepts a new leaf with its cross-certificate against the old CA, the new, and both', () => {
    for (const anchors of [[one], [two], [one, two], [two, one]])
      expect(verdict([leaf2, x21], anchors)).toBe('ok');
  });

  it('a rotation with cross-signing accepts a path of two cross-certificates in any order', () => {
    for (const anchors of [[one], [two], [three]]) {
      expect(verdict([leaf3, x32, x21], anchors)).toBe('ok');
      expect(verdict([leaf3, x21, x32], anchors)).toBe('ok');
    }
    expect(verdict([leaf3, x21], [one])).toBe('UNABLE_TO_GET_ISSUER_CERT_LOCALLY at 0');
  });

  it('a rotation with cross-signing passes over an expired anchor for the new one', () => {
    const old = authority('mesh 1', { key: one.key, notAfter: NOW - 1000 });
    expect(verdict([leaf2, x21], [old, two])).toBe('ok');
    expect(verdict([leaf2, x21], [old])).toBe('CERT_HAS_EXPIRED at 2');
  });

  it('a rotation with cross-signing says which path it took', () => {
    const result = verifyChain({ chain: of(leaf2, x21), anchors: of(one), at, purpose: 'server' });
    expect(result).toMatchObject({ ok: true, path: of(leaf2, x21, one) });
  });
});

describe('time', () => {
  const ca = authority('ca', { notBefore: NOW, notAfter: NOW + DAY });
  const leaf = leafOf(ca, 'a', { notBefore: NOW, notAfter: NOW + DAY });
  it('time runs from notBefore, inclusive, to notAfter, exclusive', () => {
    expect(verdict([leaf], [ca], 'server', instant(NOW - 1))).toBe('CERT_NOT_YET_VALID at 1');
    expect(verdict([leaf], [ca], 'server', instant(NOW))).toBe('ok');
    expect(verdict([leaf], [ca], 'server', instant(NOW + DAY - 1))).toBe('ok');
    expect(verdict([leaf], [ca], 'server', instant(NOW + DAY))).toBe('CERT_HAS_EXPIRED at 1');
  });
  it('time is checked for the leaf too', () => {
    expect(verdict([leafOf(ca, 'a', { notAfter: NOW })], [ca])).toBe('CERT_HAS_EXPIRED at 0');
  });
});

describe('what an issuer may do', () => {
  const root = authority('root');
  it('an issuer must be a CA with keyCertSign', () => {
    expect(verdict([leafOf(authority('x', { ca: false }), 'a')], [authority('x', { ca: false })])).not.toBe(
      'ok',
    );
    const noBit = authority('ca', { ca: false });
    expect(verdict([leafOf(noBit, 'a')], [noBit])).toBe('INVALID_CA at 1');
    const noSign = authority('ca', { usages: ['cRLSign'] });
    expect(verdict([leafOf(noSign, 'a')], [noSign])).toBe('INVALID_CA at 1');
    const viaLeaf = leafOf(root, 'b');
    expect(verdict([leafOf(viaLeaf, 'a'), viaLeaf], [root])).toBe('INVALID_CA at 1');
  });
  it('an issuer may lack basicConstraints only as a trust anchor of the old kind', () => {
    const v1 = issue({ subject: 'v1', version: 1 });
    expect(verdict([leafOf(v1, 'a')], [v1])).toBe('ok');
    const keyUsageOnly = issue({ subject: 'ku', usages: ['keyCertSign'] });
    expect(verdict([leafOf(keyUsageOnly, 'a')], [keyUsageOnly])).toBe('ok');
    const middle = issue({ subject: 'ku', usages: ['keyCertSign'], issuer: root });
    expect(verdict([leafOf(middle, 'a'), middle], [root])).toBe('INVALID_CA at 1');
    const bare = issue({ subject: 'bare' });
    expect(verdict([leafOf(bare, 'a')], [bare])).toBe('INVALID_CA at 1');
  });
  it('an issuer is bound by path lengths, self-issued certificates not counted', () => {
    const zero = authority('zero', { pathLength: 0 });
    expect(verdict([leafOf(zero, 'a')], [zero])).toBe('ok');
    const middle = authority('middle', { issuer: zero });
    expect(verdict([leafOf(middle, 'a'), middle], [zero])).toBe('PATH_LENGTH_EXCEEDED at 2');
    const renewed = authority('zero', { issuer: zero });
    expect(verdict([leafOf(renewed, 'a'), renewed], [zero])).toBe('ok');
    const one = authority('one', { pathLength: 1 });
    const below = authority('below', { issuer: one });
    expect(verdict([leafOf(below, 'a'), below], [one])).toBe('ok');
  });
  it('an old CA with path length 0 refuses a leaf with a cross-certificate, which is why ours have none', () => {
    const old = authority('mesh 1', { pathLength: 0 });
    const next = authority('mesh 2');
    expect(verdict([leafOf(next, 'a'), crossSign(next, old)], [old])).toBe('PATH_LENGTH_EXCEEDED at 2');
  });
});

describe('purposes', () => {
  const ca = authority('ca');
  it('purposes hold for leaf, intermediate and anchor', () => {
    const client = leafOf(ca, 'a', { eku: ['clientAuth'] });
    expect(verdict([client], [ca], 'server')).toBe('INVALID_PURPOSE at 0');
    expect(verdict([client], [ca], 'client')).toBe('ok');
    const any = leafOf(ca, 'a', { eku: ['any'] });
    expect(verdict([any], [ca], 'server')).toBe('INVALID_PURPOSE at 0');
    const clientRoot = authority('clients', { eku: ['clientAuth'] });
    expect(verdict([leafOf(clientRoot, 'a')], [clientRoot], 'server')).toBe('INVALID_PURPOSE at 1');
    expect(verdict([leafOf(clientRoot, 'a')], [clientRoot], 'client')).toBe('ok');
  });
  it('purposes include the key usage and the old Netscape types', () => {
    const encipher = leafOf(ca, 'a', { usages: ['keyEncipherment'] });
    expect(verdict([encipher], [ca], 'server')).toBe('ok');
    expect(verdict([encipher], [ca], 'client')).toBe('INVALID_PURPOSE at 0');
    const netscape = leafOf(ca, 'a', { netscape: 0x80 });
    expect(verdict([netscape], [ca], 'client')).toBe('ok');
    expect(verdict([netscape], [ca], 'server')).toBe('INVALID_PURPOSE at 0');
  });
});

describe('which issuer is meant', () => {
  it('the issuer that is meant is decided by name and AKI; without an AKI the first of that name is taken, right or wrong', () => {
    const r1 = authority('same');
    const r2 = authority('same');
    expect(verdict([leafOf(r2, 'a')], [r1, r2])).toBe('ok');
    const plain1 = authority('same', { ski: 'none', aki: 'none' });
    const plain2 = authority('same', { ski: 'none', aki: 'none' });
    const leaf = leafOf(plain2, 'a', { aki: 'none' });
    expect(verdict([leaf], [plain2, plain1])).toBe('ok');
    expect(verdict([leaf], [plain1, plain2])).toBe('CERT_SIGNATURE_FAILURE at 0');
  });
  it('the search for an issuer prefers the first that is valid now, and of ended ones the last to end', () => {
    const key = p256();
    const ended = authority('ca', { key, notAfter: NOW - DAY });
    const later = authority('ca', { key, notAfter: NOW - 1000 });
    const valid = authority('ca', { key });
    const leaf = leafOf(valid, 'a');
    expect(verdict([leaf], [ended, valid])).toBe('ok');
    expect(verdict([leaf], [ended, later])).toBe('CERT_HAS_EXPIRED at 1');
    const result = verifyChain({ chain: of(leaf), anchors: of(ended, later, valid), at, purpose: 'server' });
    expect(result).toMatchObject({ ok: true, path: of(leaf, valid) });
  });
  it('the search for an issuer passes over a namesake whose key cannot have made the signature', () => {
    const plain = { ski: 'none', aki: 'none' } as const;
    const elliptic = authority('same', plain);
    const modular = authority('same', { ...plain, key: rsa() });
    expect(verdict([leafOf(modular, 'a', { aki: 'none' })], [elliptic, modular])).toBe('ok');
    expect(verdict([leafOf(elliptic, 'a', { aki: 'none' })], [modular, elliptic])).toBe('ok');
  });
  it('the search for an issuer takes string type, case and spacing of names for the same', () => {
    const ca = authority('', { subject: printableName('Mesh  One') });
    expect(verdict([leafOf(ca, 'a', { issuerName: ' mesh ONE ' })], [ca])).toBe('ok');
    expect(verdict([leafOf(ca, 'a', { issuerName: 'meshone' })], [ca])).not.toBe('ok');
  });
  it('the search for an issuer heeds the serial number in an AKI', () => {
    const ca = authority('ca');
    expect(verdict([leafOf(ca, 'a', { aki: 'with-serial' })], [ca])).toBe('ok');
    expect(verdict([leafOf(ca, 'a', { aki: 'wrong-serial' })], [ca])).toBe(
      'UNABLE_TO_GET_ISSUER_CERT_LOCALLY at 0',
    );
  });
  it('the search for an issuer refuses a forgery and a look-alike of the anchor', () => {
    const ca = authority('ca');
    expect(verdict([leafOf(ca, 'a', { forged: true })], [ca])).toBe('CERT_SIGNATURE_FAILURE at 0');
    const mimic = authority('ca', { ski: ca.ski });
    expect(verdict([leafOf(mimic, 'a'), mimic], [ca])).toBe('CERT_SIGNATURE_FAILURE at 0');
    expect(verdict([mimic], [ca])).toBe('DEPTH_ZERO_SELF_SIGNED_CERT at 0');
  });
});

describe('anchors that are not roots', () => {
  const root = authority('root');
  const middle = authority('middle', { issuer: root });
  const leaf = leafOf(middle, 'a');
  it('an anchor that is not a root is not enough by itself, as in Node without allowPartialTrustChain', () => {
    expect(verdict([leaf, middle], [middle])).toBe('UNABLE_TO_GET_ISSUER_CERT at 1');
    expect(verdict([leaf], [leaf])).toBe('UNABLE_TO_GET_ISSUER_CERT_LOCALLY at 0');
    expect(verdict([leaf], [middle, root])).toBe('ok');
  });
  it('an anchor may be a self-signed leaf, shown by its owner', () => {
    const own = issue({ subject: 'own', ca: false, usages: ['digitalSignature'] });
    expect(verdict([own], [own])).toBe('ok');
    expect(verdict([own], [root])).toBe('DEPTH_ZERO_SELF_SIGNED_CERT at 0');
    expect(verdict([leaf, middle, root], [own])).toBe('SELF_SIGNED_CERT_IN_CHAIN at 2');
  });
});

describe('extensions and algorithms', () => {
  const ca = authority('ca');
  it('the chain check refuses an unknown critical extension and lets an unknown other one pass', () => {
    const extra = { oid: '1.2.3.4', value: Buffer.from([5, 0]) };
    expect(verdict([leafOf(ca, 'a', { extra: [extra] })], [ca])).toBe('ok');
    const critical = leafOf(ca, 'a', { extra: [{ ...extra, critical: true }] });
    expect(verdict([critical], [ca])).toBe('UNHANDLED_CRITICAL_EXTENSION at 0');
  });
  it('the chain check refuses a proxy certificate', () => {
    const proxy = {
      oid: '1.3.6.1.5.5.7.1.14',
      critical: true,
      value: Buffer.from('300c300a06082b06010505071501', 'hex'),
    };
    expect(verdict([leafOf(ca, 'a', { dns: [], extra: [proxy] })], [ca])).toBe(
      'PROXY_CERTIFICATES_NOT_ALLOWED at 0',
    );
  });
  it('the chain check refuses SHA-1 everywhere but on the anchor, and RSA keys under 1024 bits', () => {
    const old = authority('old', { digest: 'sha1' });
    expect(verdict([leafOf(old, 'a')], [old])).toBe('ok');
    expect(verdict([leafOf(ca, 'a', { digest: 'sha1' })], [ca])).toBe('CA_MD_TOO_WEAK at 0');
    expect(verdict([leafOf(ca, 'a', { key: rsa(768) })], [ca])).toBe('EE_KEY_TOO_SMALL at 0');
    expect(verdict([leafOf(ca, 'a', { key: rsa(1024) })], [ca])).toBe('ok');
  });
  it('the chain check takes an RSA root with a P-256 leaf', () => {
    const root = authority('rsa', { key: rsa() });
    expect(verdict([leafOf(root, 'a', { key: p256() })], [root])).toBe('ok');
  });
  it('the chain check applies name constraints of every issuer, the anchor included', () => {
    const bound = authority('bound', {
      constraints: {
        permitted: [general.dns('mesh.test')],
        excluded: [general.ip(10, 0, 0, 0, 255, 0, 0, 0)],
      },
    });
    expect(verdict([leafOf(bound, 'a', { dns: ['a.mesh.test'] })], [bound])).toBe('ok');
    expect(verdict([leafOf(bound, 'a', { dns: ['mesh.test'] })], [bound])).toBe('ok');
    expect(verdict([leafOf(bound, 'a', { dns: ['amesh.test'] })], [bound])).toBe('PERMITTED_VIOLATION at 0');
    const ten = leafOf(bound, 'a', { dns: [], ip: [[10, 1, 2, 3]] });
    expect(verdict([ten], [bound])).toBe('EXCLUDED_VIOLATION at 0');
    const byName = authority('dir', { constraints: { permitted: [general.directory(nameOf('x'))] } });
    expect(verdict([leafOf(byName, 'x')], [byName])).toBe('ok');
    expect(verdict([leafOf(byName, 'y')], [byName])).toBe('PERMITTED_VIOLATION at 0');
  });
  it('the chain check refuses an empty chain, and any chain without anchors', () => {
    expect(verdict([], [ca])).toBe('CHAIN_EMPTY at 0');
    expect(verdict([leafOf(ca, 'a')], [])).toBe('UNABLE_TO_GET_ISSUER_CERT_LOCALLY at 0');
  });
});
