import { spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Certificate, hour, instant, parseCertificate, verifyChain } from '@handover/material';
import { temporaryFolder } from '@handover/test-api-server';
import { expect, test } from 'vitest';
import {
  generateKey,
  issueCa,
  issueCross,
  issueLeaf,
  type LeafInput,
  localSigner,
  nameConstraintsOf,
  outsideConstraints,
  type PermittedNames,
} from '../../src/index.ts';

const dir = temporaryFolder();

const now = instant(Date.UTC(2030, 0, 1));
const dates = { notBefore: instant(now - hour), notAfter: instant(now + 100 * hour) };
const [key1, key2, leafKey] = [0, 1, 2].map(() => generateKey('ECDSA-P256')) as [
  KeyPairs,
  KeyPairs,
  KeyPairs,
];
type KeyPairs = ReturnType<typeof generateKey>;
const serial = () => randomBytes(16);
const signerOf = ({ privateKey }: KeyPairs) => localSigner(privateKey);
const caOf = async (generation: number, key: KeyPairs, nameConstraints?: PermittedNames) =>
  parseCertificate(
    await issueCa({
      name: 'mesh',
      generation,
      signer: signerOf(key),
      serial: serial(),
      ...dates,
      nameConstraints,
    }),
  );

type Names = Partial<Pick<LeafInput, 'dnsNames' | 'ipAddresses' | 'uris' | 'subject'>>;
const full = (names: Names) => ({ subject: {}, dnsNames: [], ipAddresses: [], uris: [], ...names });
const leafOf = async (issuer: Certificate, issuerKey: KeyPairs, names: Names) =>
  parseCertificate(
    await issueLeaf({
      ...full(names),
      issuer,
      signer: signerOf(issuerKey),
      publicKey: leafKey.publicKey,
      serial: serial(),
      usages: ['server', 'client'],
      ...dates,
    }),
  );

let files = 0;
const fileOf = (certificates: readonly Certificate[]): string => {
  const path = join(dir, `${files++}.pem`);
  writeFileSync(path, certificates.map(({ pem }) => pem).join(''));
  return path;
};
const opensslAccepts = (
  anchors: readonly Certificate[],
  [leaf, ...rest]: readonly Certificate[],
): boolean => {
  const untrusted = rest.length === 0 ? [] : ['-untrusted', fileOf(rest)];
  const args = ['verify', '-attime', String(now / 1000), '-CAfile', fileOf(anchors), ...untrusted];
  const { error, status, stderr } = spawnSync(
    'openssl',
    [...args, fileOf(leaf === undefined ? [] : [leaf])],
    {
      encoding: 'utf8',
    },
  );
  if (error !== undefined) throw error;
  if (status !== 0) expect(stderr).toMatch(/permitted subtree violation/);
  return status === 0;
};
const weAccept = (anchors: readonly Certificate[], chain: readonly Certificate[]): boolean =>
  verifyChain({ chain, anchors, at: now, purpose: 'server' }).ok;

const CONSTRAINTS: PermittedNames = {
  dnsNames: ['mesh.svc', 'localhost'],
  ipAddresses: ['10.0.0.0/9', '127.0.0.1', '2001:db8::/33'],
};
const CASES: readonly (readonly [boolean, Names])[] = [
  [true, { dnsNames: ['a.mesh.svc'] }],
  [true, { dnsNames: ['mesh.svc', 'a.b.MESH.svc', '*.mesh.svc', 'localhost'] }],
  [true, { ipAddresses: ['10.127.0.1', '127.0.0.1', '2001:db8:7fff::1'] }],
  [true, { dnsNames: ['a.mesh.svc'], uris: ['spiffe://elsewhere/x'] }],
  [true, { dnsNames: ['a.mesh.svc'], subject: { commonName: 'other.example', organizations: ['x'] } }],
  [true, { subject: { commonName: 'handover canary' } }],
  [false, { dnsNames: ['amesh.svc'] }],
  [false, { dnsNames: ['svc'] }],
  [false, { dnsNames: ['*.svc'] }],
  [false, { dnsNames: ['a.mesh.svc', 'a.prod.svc'] }],
  [false, { dnsNames: ['a.mesh.svc'], ipAddresses: ['10.128.0.1'] }],
  [false, { ipAddresses: ['127.0.0.2'] }],
  [false, { ipAddresses: ['2001:db8:8000::1'] }],
  [false, { ipAddresses: ['::ffff:10.0.0.1'] }],
  [false, { ipAddresses: ['10.0.0.1'], subject: { commonName: 'payments.prod.svc' } }],
];

test.each(CASES)(
  'accepted %s by OpenSSL, by our chain check and before issuing: %j',
  async (accepted, names) => {
    const ca = await caOf(1, key1, CONSTRAINTS);
    const leaf = await leafOf(ca, key1, names);
    expect(opensslAccepts([ca], [leaf])).toBe(accepted);
    expect(weAccept([ca], [leaf])).toBe(accepted);
    expect(outsideConstraints(full(names), nameConstraintsOf(CONSTRAINTS)) === undefined).toBe(accepted);
  },
);

test('the cross-certificate carries the constraints of the new CA, and those of the old CA count too', async () => {
  const open = await caOf(1, key1);
  const narrow = await caOf(2, key2, { dnsNames: ['mesh.svc'] });
  const cross = async (subject: Certificate, issuer: Certificate, by: KeyPairs) =>
    parseCertificate(await issueCross({ subject, issuer, signer: signerOf(by), serial: serial(), ...dates }));
  const narrowed = await cross(narrow, open, key1);
  expect(narrowed.nameConstraints).toEqual(narrow.nameConstraints);
  const good = await leafOf(narrow, key2, { dnsNames: ['a.mesh.svc'] });
  const bad = await leafOf(narrow, key2, { dnsNames: ['a.prod.svc'] });
  for (const accepts of [opensslAccepts, weAccept]) {
    expect(accepts([open], [good, narrowed])).toBe(true);
    expect(accepts([open], [bad, narrowed])).toBe(false);
  }
  const old = await caOf(1, key1, { dnsNames: ['mesh.svc'] });
  const wide = await caOf(2, key2, { dnsNames: ['mesh.svc', 'prod.svc'] });
  const leaf = await leafOf(wide, key2, { dnsNames: ['a.prod.svc'] });
  for (const accepts of [opensslAccepts, weAccept]) {
    expect(accepts([wide], [leaf, await cross(wide, old, key1)])).toBe(true);
    expect(accepts([old], [leaf, await cross(wide, old, key1)])).toBe(false);
  }
});
