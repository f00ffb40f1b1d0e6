import tls from 'node:tls';
import { parseCertificates } from '@handover/material';
import { beforeEach, expect, test, vi } from 'vitest';
import { files, Scope } from '../../test/fixture.ts';
import { MockCa } from '../../test/mock-ca.ts';
import { type StatusDocument, serveStatus } from '../index.ts';

const [one, two] = [new MockCa('one'), new MockCa('two')];
const [ROOT = ''] = tls.rootCertificates;
const fingerprint = ({ pem }: MockCa) => parseCertificates(pem).certificates[0]?.fingerprint;
let scope: Scope;
beforeEach(() => {
  scope = new Scope();
  scope.after(() => vi.unstubAllEnvs());
});

/** Asks again and again. */
const shown = async () => {
  const trust = await scope.trust(scope.volume(files(one.leaf(), one, two)));
  const { port } = await serveStatus({ port: 0, host: '127.0.0.1', sources: [trust], signal: scope.signal });
  return async () =>
    (await fetch(`http://127.0.0.1:${port}/handover/status`)).json() as Promise<StatusDocument>;
};

/** A Node that tells which CAs it trusts, whatever Node this is. */
const nodeWith = (...extra: readonly string[]) => {
  const trusted = { default: [ROOT, ...extra], bundled: [ROOT] };
  const before = Object.getOwnPropertyDescriptor(tls, 'getCACertificates');
  const getCACertificates = (type: 'default' | 'bundled') => trusted[type];
  Object.defineProperty(tls, 'getCACertificates', { value: getCACertificates, configurable: true });
  scope.after(() => {
    if (before === undefined) Reflect.deleteProperty(tls, 'getCACertificates');
    else Object.defineProperty(tls, 'getCACertificates', before);
  });
  return trusted;
};

test('CAs that Node trusts beside its roots are a source of the status, which the files do not change', async () => {
  const trusted = nodeWith(one.pem);
  vi.stubEnv('NODE_EXTRA_CA_CERTS', '/etc/mesh/ca.crt');
  const document = await shown();
  const { sources } = await document();
  expect(sources).toHaveLength(2);
  expect(sources[1]).toMatchObject({ kind: 'trust', path: '/etc/mesh/ca.crt', anchors: [fingerprint(one)] });
  trusted.default = [ROOT, one.pem, two.pem];
  expect((await document()).sources[1]?.anchors).toEqual([fingerprint(one), fingerprint(two)]);
});

test("A process that trusts only Node's roots by default has no source for them", async () => {
  nodeWith();
  const document = await shown();
  expect((await document()).sources).toHaveLength(1);
});
