import { readFileSync } from 'node:fs';
import { createSecureContext, createServer } from 'node:tls';
import { parseCertificates } from '@handover/material';
import { beforeEach, describe, expect, test } from 'vitest';
import { files, next, Scope } from '../../test/fixture.ts';
import { MockCa } from '../../test/mock-ca.ts';
import { hello } from '../../test/servers.ts';
import type { Volume } from '../../test/volume.ts';
import { listen, ok, readByte } from '../../test/world.ts';
import { type StatusDocument, type StatusSource, serveStatus } from '../index.ts';

const [one, two] = [new MockCa('one'), new MockCa('two')];
const fingerprint = (pem: string) => parseCertificates(pem).certificates[0]?.fingerprint;
const mtls = { requestCert: true, rejectUnauthorized: true };
const textsIn = (volume: Volume) => ({
  cert: readFileSync(volume.path('tls.crt'), 'utf8'),
  key: readFileSync(volume.path('tls.key'), 'utf8'),
});
let scope: Scope;
beforeEach(() => {
  scope = new Scope();
});

const documentOf = async (...sources: StatusSource[]): Promise<StatusDocument> => {
  const { port } = await serveStatus({ port: 0, host: '127.0.0.1', sources, signal: scope.signal });
  return (await fetch(`http://127.0.0.1:${port}/handover/status`)).json() as Promise<StatusDocument>;
};
const anchorsIn = ({ sources }: StatusDocument) =>
  sources.flatMap(({ anchors }) => (anchors ? [anchors] : []));
const leavesIn = ({ sources }: StatusDocument) =>
  sources.flatMap(({ leaf }) => (leaf === undefined ? [] : [leaf.fingerprint]));

describe('The client CA of a server beside a followed identity', () => {
  const world = async () => {
    const [leaf, volume] = [one.leaf(), scope.volume(files(one.leaf(), one))];
    const identity = await scope.identity(volume, { ca: false });
    return { leaf, volume, identity, trust: await scope.trust(volume) };
  };

  test('A server with client CAs of its own is shown with them, beside a Trust that has loaded more', async () => {
    const { volume, identity, trust } = await world();
    scope.add(await listen(identity.serve(createServer({ ...mtls, ca: one.pem }, hello))));
    scope.add(await listen(identity.serve(createServer(mtls, hello), { ca: [Buffer.from(one.pem)] })));
    volume.write(files(one.leaf(), one, two));
    await trust.reload();
    expect(anchorsIn(await documentOf(identity, trust))).toEqual([
      expect.arrayContaining([fingerprint(one.pem), fingerprint(two.pem)]),
      [fingerprint(one.pem)],
      [fingerprint(one.pem)],
    ]);
  });

  test('A server that asks no client for a certificate, or is closed, shows no client CAs', async () => {
    const { identity } = await world();
    scope.add(await listen(identity.serve(createServer({ ca: one.pem }, hello))));
    await (await listen(identity.serve(createServer({ ...mtls, ca: one.pem }, hello)))).close();
    expect(anchorsIn(await documentOf(identity))).toEqual([]);
  });

  test.each(['TLSv1.2', 'TLSv1.3'] as const)(
    'A Trust as the client CA of a server is followed over %s, resumption included, and shown without being listed',
    async (maxVersion) => {
      const { leaf, volume, identity, trust } = await world();
      const target = scope.add(await listen(identity.serve(createServer(mtls, hello), { ca: trust })));
      const as = (client: { cert: string; key: string }, session?: Buffer) =>
        readByte({ port: target.port, ca: one.pem, ...client, maxVersion, ...(session ? { session } : {}) });
      const { session } = await as(leaf);
      expect((await as(leaf, session)).resumed).toBe(true);
      expect(await ok(as(two.leaf()))).toBe(false);
      volume.write({ ...files(one.leaf(), two) });
      await trust.reload();
      await as(two.leaf());
      expect(await ok(as(leaf, session))).toBe(false);
      expect(anchorsIn(await documentOf(identity))).toEqual([[fingerprint(two.pem)]]);
      // listed too, it is shown once
      expect(anchorsIn(await documentOf(identity, trust))).toHaveLength(1);
    },
  );

  test('A Trust that a server refuses is shown with the CAs that the server took last', async () => {
    const { volume, identity, trust } = await world();
    const { server } = scope.add(await listen(identity.serve(createServer(mtls, hello), { ca: trust })));
    server.setSecureContext = () => {
      throw new Error('refused');
    };
    const kept = next(trust, 'kept');
    volume.write(files(one.leaf(), two));
    await kept;
    expect(trust.status()).toMatchObject({ anchors: [fingerprint(one.pem)] });
  });

  test('A Trust that verifies nothing, or stands beside the CAs of the identity, is refused as a client CA', async () => {
    const { volume, identity, trust } = await world();
    const unverified = await scope.trust(volume, { verify: false });
    expect(() => identity.serve(createServer(mtls), { ca: unverified })).toThrow(/verify: false/);
    const whole = await scope.identity(volume);
    expect(() => whole.serve(createServer(mtls), { ca: trust })).toThrow(/opened with ca/);
  });
});

describe('A context of a server for a host name', () => {
  const world = async (options: object = {}) => {
    const volume = scope.volume(files(one.leaf(), one));
    const identity = await scope.identity(volume);
    const server = createServer(options, hello);
    const start = async () => scope.add(await listen(identity.serve(server)));
    const follow = async () => {
      volume.write(files(two.leaf(), two));
      await identity.reload();
    };
    return { volume, identity, server, start, follow };
  };
  const shows = async (server: { port: number }, ca: MockCa, host: string) =>
    ok(readByte({ port: server.port, ca: ca.pem, servername: host, checkServerIdentity: () => undefined }));

  test('A context with the certificate of the file follows it, before and after its server was served', async () => {
    const { volume, identity, server, start, follow } = await world();
    server.addContext('before.test', identity.secureContext());
    const target = await start();
    server.addContext('options.test', textsIn(volume));
    server.addContext('live.test', identity.tlsOptions());
    server.addContext('after.test', identity.secureContext());
    for (const host of ['before.test', 'options.test', 'live.test', 'after.test', 'localhost'])
      expect(await shows(target, one, host)).toBe(true);
    await follow();
    for (const host of ['before.test', 'options.test', 'live.test', 'after.test', 'localhost'])
      expect([host, await shows(target, two, host)]).toEqual([host, true]);
    expect(leavesIn(await documentOf(identity))).toEqual([identity.status().leaf?.fingerprint]);
  });

  test('A context that keeps its certificate is shown with it', async () => {
    const { volume, identity, server, start, follow } = await world();
    const texts = textsIn(volume);
    server.addContext('early.test', texts);
    const target = await start();
    server.addContext('own.test', createSecureContext(texts));
    const old = identity.status().leaf?.fingerprint;
    await follow();
    expect(await shows(target, one, 'early.test')).toBe(true);
    expect(leavesIn(await documentOf(identity))).toEqual([identity.status().leaf?.fingerprint, old, old]);
  });

  test('A context that checks clients by CAs that cannot be read makes the process silent, with a warning', async () => {
    const { volume, identity, server, start } = await world(mtls);
    await start();
    const { cert, key } = textsIn(volume);
    server.addContext('listed.test', { ...two.leaf(), ca: two.pem });
    expect(anchorsIn(await documentOf(identity))).toEqual([[fingerprint(one.pem)], [fingerprint(two.pem)]]);
    const warned = new Promise<Error & { code?: string }>((resolve) => process.once('warning', resolve));
    server.addContext('opaque.test', createSecureContext({ cert, key, ca: one.pem }));
    expect((await warned).code).toBe('CONTEXT_NOT_FOLLOWED');
    expect((await documentOf(identity)).processes).toEqual([{ pid: process.pid, silent: true }]);
  });
});
