import {
  type AddressInfo,
  connect as connectPlain,
  createServer as createPlainServer,
  type Socket,
} from 'node:net';
import { createServer, type Server, type TlsOptions } from 'node:tls';
import { encodePem, parseCertificates } from '@handover/material';
import { afterEach, describe, expect, onTestFinished, test } from 'vitest';
import { MESH_ID, MeshHomes, pairOf, pass, recordOf, secret } from '../../test/mesh-home.ts';
import { type AuthorityRecord, probe } from '../index.ts';

const homes = new MeshHomes();
const { clock } = homes;
const servers: Server[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) server.close();
});

const probed = (target: { readonly address: string; readonly mtls: boolean }, record: AuthorityRecord) =>
  clock.during(probe({ authority: MESH_ID, ...target }, record, homes.probeTools, homes.now));

const chainAt = async (address: string, record: AuthorityRecord) => {
  const { proofs } = await probed({ address, mtls: false }, record);
  return proofs.find(({ issuer }) => issuer !== undefined)?.chain;
};

const serve = async (options: TlsOptions): Promise<string> => {
  const server = createServer(options, (socket) => socket.on('error', () => {}));
  server.on('tlsClientError', () => {});
  servers.push(server);
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
};

describe('A probe', () => {
  const begin = async () => {
    const home = homes.mesh('');
    await pass(home);
    const files = pairOf(home, 'a');
    const oldCa = secret(home, 'a', 'ca.crt');
    await home.requests.ask({ authority: MESH_ID, rotate: 'r' });
    await pass(home);
    const record = await recordOf(home);
    const [next, current] = record.state.generations.map(({ anchors }) => anchors[0].fingerprint);
    return { home, files, oldCa, bothCas: secret(home, 'a', 'ca.crt'), record, next, current };
  };

  test.each(['TLSv1.2', 'TLSv1.3'] as const)(
    'A probe shows over %s which leaf is served, and which CAs an mTLS server trusts',
    async (version) => {
      const { files, oldCa, bothCas, record, next, current } = await begin();
      const mtls = { requestCert: true, rejectUnauthorized: true, minVersion: version, maxVersion: version };
      const before = await probed(
        { address: await serve({ ...files, ca: oldCa, ...mtls }), mtls: true },
        record,
      );
      expect(before.proofs).toMatchObject([{ issuer: current }, { anchors: [current], refuses: [next] }]);
      const after = await probed(
        { address: await serve({ ...files, ca: bothCas, ...mtls }), mtls: true },
        record,
      );
      expect(after.proofs).toMatchObject([{ issuer: current }, { anchors: [next, current], refuses: [] }]);
    },
  );

  /** One port, and one server after the other behind it, as the workers of one program. */
  const inTurn = async (...behind: readonly string[]): Promise<string> => {
    let calls = 0;
    const front = createPlainServer((socket) => {
      const port = Number(behind[calls++ % behind.length]?.split(':')[1]);
      const onward = connectPlain(port, '127.0.0.1');
      onward.on('error', () => socket.destroy());
      socket.on('error', () => onward.destroy());
      socket.pipe(onward).pipe(socket);
    });
    await new Promise<void>((listening) => front.listen(0, '127.0.0.1', listening));
    onTestFinished(() => void front.close());
    return `127.0.0.1:${(front.address() as AddressInfo).port}`;
  };

  test('A probe of a port with several processes believes the one that has loaded least', async () => {
    const { files, oldCa, bothCas, record, next, current } = await begin();
    const mtls = { requestCert: true, rejectUnauthorized: true };
    const fresh = await serve({ ...files, ca: bothCas, ...mtls });
    const behind = await serve({ ...files, ca: oldCa, ...mtls });
    for (const order of [
      [fresh, fresh, fresh, behind],
      [fresh, behind],
    ]) {
      const address = await inTurn(...order);
      const seen = await probed({ address, mtls: true }, record);
      expect(seen.proofs[1]?.refuses).toContain(next);
      expect(seen.proofs[1]?.anchors).not.toContain(next);
      expect(seen.proofs[0]).toMatchObject({ issuer: current });
    }
    const dead = await inTurn(fresh, fresh, fresh, fresh, '127.0.0.1:1');
    const halved = await probed({ address: dead, mtls: true }, record);
    expect(halved.proofs.flatMap(({ anchors = [] }) => anchors)).not.toContain(next);
    expect(halved.proofs.flatMap(({ issuer = [] }) => issuer)).toEqual([]);
    expect(halved.unread.leaf).toMatch(/ends the handshake before it shows a certificate/);
  });

  /** One port whose connections are answered in this order, the last answer again and again. */
  const answering = async (...answers: readonly ((socket: Socket) => void)[]): Promise<string> => {
    let calls = 0;
    const front = createPlainServer((socket) => {
      socket.on('error', () => {});
      answers[Math.min(calls++, answers.length - 1)]?.(socket);
    });
    await new Promise<void>((listening) => front.listen(0, '127.0.0.1', listening));
    onTestFinished(() => void front.close());
    return `127.0.0.1:${(front.address() as AddressInfo).port}`;
  };
  const reset = (socket: Socket): void => void socket.once('data', () => socket.resetAndDestroy());
  const close = (socket: Socket): void => void socket.once('data', () => socket.end());
  /** Alert unknown_ca (48), RFC 8446 §6.2. */
  const alert = (socket: Socket): void =>
    void socket.once('data', () => socket.end(Buffer.from('15030300020230', 'hex')));
  /** Alert internal_error (80). */
  const fault = (socket: Socket): void =>
    void socket.once('data', () => socket.end(Buffer.from('15030300020250', 'hex')));
  const onTo =
    (address: string) =>
    (socket: Socket): void => {
      const onward = connectPlain(Number(address.split(':')[1]), '127.0.0.1');
      onward.on('error', () => socket.destroy());
      socket.on('error', () => onward.destroy());
      socket.pipe(onward).pipe(socket);
    };

  test.each([
    ['reset', reset],
    ['closed early', close],
    ['ended with an alert', alert],
  ])(
    'A server that accepts every client shows no trust when a connection with the control is %s',
    async (_, interrupted) => {
      const { files, bothCas, record } = await begin();
      const open = await serve({ ...files, ca: bothCas, requestCert: true, rejectUnauthorized: false });
      const address = await answering(interrupted, onTo(open));
      const { proofs, unread } = await probed({ address, mtls: true }, record);
      expect(proofs.flatMap(({ anchors = [] }) => anchors)).toEqual([]);
      expect(unread.trust).toBe(
        `${address} accepts a client certificate of an unknown CA, and so does not show which CAs it trusts`,
      );
    },
  );

  test('A reset is no verdict on the control: a later alert is, and a close without an alert only when every try ends in one', async () => {
    const { files, bothCas, record, next } = await begin();
    const open = onTo(await serve({ ...files, ca: bothCas, requestCert: true, rejectUnauthorized: false }));
    const shown = async (...controls: readonly ((socket: Socket) => void)[]) => {
      const [first, ...later] = controls as [(socket: Socket) => void];
      const address = await answering(first, open, open, ...later.flatMap((control) => [open, control]));
      return probed({ address, mtls: true }, record);
    };
    const anchorsOf = ({ proofs }: Awaited<ReturnType<typeof shown>>) =>
      proofs.flatMap(({ anchors = [] }) => anchors);
    expect(anchorsOf(await shown(reset, reset, alert, reset, reset))).toContain(next);
    expect(anchorsOf(await shown(close, close, close, close, close))).toContain(next);
    for (const controls of [
      [alert, reset, reset, reset, reset],
      [close, close, reset, close, close],
      [reset, close, close, close, close],
      [reset, fault, fault, fault, fault],
    ]) {
      const silent = await shown(...controls);
      expect(anchorsOf(silent)).toEqual([]);
      expect(silent.unread.trust).toMatch(
        / ends connections with a client certificate of an unknown CA without a TLS alert/,
      );
    }
  });

  test('A canary whose connection is reset counts as refused: time alone must not speak for its CA', async () => {
    const { files, bothCas, record, next, current } = await begin();
    const mtls = await serve({ ...files, ca: bothCas, requestCert: true, rejectUnauthorized: true });
    const address = await answering(onTo(mtls), reset, onTo(mtls));
    const { proofs } = await probed({ address, mtls: true }, record);
    expect(proofs[1]).toMatchObject({ anchors: [current], refuses: [next] });
  });

  test('A probe believes no key id: the CA must have signed the leaf, and a leaf without a key id counts against all others', async () => {
    const { files, record } = await begin();
    const changed = (change: (der: Buffer) => void): TlsOptions => {
      const der = Buffer.from(parseCertificates(files.cert).certificates[0]?.der ?? []);
      change(der);
      return { ...files, cert: encodePem('CERTIFICATE', der) };
    };
    const forged = changed((der) => der.writeUInt8((der.at(-1) ?? 0) ^ 1, der.length - 1));
    const address = await serve(forged);
    const seen = await probed({ address, mtls: false }, record);
    expect(seen.proofs).toMatchObject([{ issuer: 'unknown' }]);
    expect(seen.unread.leaf).toBe(
      `${address} serves a certificate of a CA that this authority does not have`,
    );
    // The object identifier of the extension becomes that of none.
    const nameless = changed((der) =>
      der.writeUInt8(0x7f, der.indexOf(Buffer.from('0603551d23', 'hex')) + 4),
    );
    const anonymous = await inTurn(await serve(files), await serve(nameless));
    const mixed = await probed({ address: anonymous, mtls: false }, record);
    expect(mixed.proofs).toEqual([]);
    expect(mixed.unread.leaf).toMatch(/serves a certificate without an authority key id/);
  });

  test('A probe counts for nothing where the control is accepted too, or no server answers', async () => {
    const { files, bothCas, record, current } = await begin();
    const open = await serve({ ...files, ca: bothCas, requestCert: true, rejectUnauthorized: false });
    const { now } = homes;
    const shown = await probed({ address: open, mtls: true }, record);
    expect(shown.proofs).toEqual([
      {
        by: 'probed',
        at: now,
        issuer: current,
        leaves: [{ fingerprint: expect.any(String), notAfter: expect.any(Number) }],
      },
    ]);
    expect(shown.unread).toEqual({
      trust: `${open} accepts a client certificate of an unknown CA, and so does not show which CAs it trusts`,
    });
    const none = await probed({ address: '127.0.0.1:1', mtls: true }, record);
    const why = '127.0.0.1:1 cannot be reached (ECONNREFUSED)';
    expect(none).toEqual({
      proofs: [],
      unread: { trust: why, leaf: why },
      served: { at: homes.now, since: homes.now, leaves: [], none: { reason: 'unreachable', why } },
    });
  });

  test.each([
    ['answers in clear text', (socket: Socket) => void socket.write('HTTP/1.1 400 Bad Request\r\n\r\n')],
    ['speaks first', (socket: Socket) => void socket.write('220 mail.local ESMTP\r\n')],
  ])('A probe of a port that %s is no evidence, whatever time passes', async (_, answer) => {
    const plain = createPlainServer((socket) => {
      socket.on('error', () => {});
      answer(socket);
    });
    await new Promise<void>((listening) => plain.listen(0, '127.0.0.1', listening));
    const address = `127.0.0.1:${(plain.address() as AddressInfo).port}`;
    const home = homes.mesh(
      `{name: web, presents: true, leaf: a, probe: {address: "${address}"}}, {name: hot, presents: true, verifies: true, leaf: b, reload: hot}`,
    );
    await pass(home);
    await home.requests.ask({ authority: MESH_ID, rotate: 'r' });
    for (let passes = 0; passes < 6; passes++) {
      await pass(home);
      homes.later(100_000);
    }
    const { plan } = await pass(home);
    expect(plan.phase).toBe('Activating');
    expect(plan.blockedBy).toMatchObject([
      { consumer: 'web', waitsFor: `to load a leaf of CA generation 2 (${address} does not speak TLS)` },
    ]);
    plain.close();
  });

  test('A probe sees a presenter that strips the cross-certificate from its chain', async () => {
    const { home } = await begin();
    homes.later(20_000);
    await pass(home);
    const record = await recordOf(home);
    const chain = secret(home, 'a', 'tls.crt');
    const whole = await serve({ cert: chain, key: secret(home, 'a', 'tls.key') });
    const alone = await serve({
      cert: parseCertificates(chain).certificates[0]?.pem,
      key: secret(home, 'a', 'tls.key'),
    });
    expect(await chainAt(whole, record)).toBe('sends');
    expect(await chainAt(alone, record)).toBe('strips');
  });

  test('A probe says nothing of the chain before there is a cross-certificate to see', async () => {
    const home = homes.mesh('');
    await pass(home);
    const chain = secret(home, 'a', 'tls.crt');
    const address = await serve({ cert: chain, key: secret(home, 'a', 'tls.key') });
    expect(parseCertificates(chain).certificates).toHaveLength(1);
    expect(await chainAt(address, await recordOf(home))).toBeUndefined();
  });

  test('A probe that meets one process without the cross-certificate sees a server that strips it', async () => {
    const { home } = await begin();
    homes.later(20_000);
    await pass(home);
    const record = await recordOf(home);
    const chain = secret(home, 'a', 'tls.crt');
    const key = secret(home, 'a', 'tls.key');
    const address = await serve({ cert: chain, key });
    let connections = 0;
    const [leaf] = parseCertificates(chain).certificates;
    servers
      .at(-1)
      ?.on('connection', () =>
        servers.at(-1)?.setSecureContext({ cert: connections++ === 2 ? leaf?.pem : chain, key }),
      );
    expect(await chainAt(address, record)).toBe('strips');
    expect(connections).toBe(5);
    expect(await chainAt(address, record)).toBe('sends');
  });

  test('A probe does not miss a cross-certificate that has expired', async () => {
    const { home } = await begin();
    homes.later(20_000);
    await pass(home);
    const [leaf] = parseCertificates(secret(home, 'a', 'tls.crt')).certificates;
    const alone = await serve({ cert: leaf?.pem, key: secret(home, 'a', 'tls.key') });
    const { state, ...record } = await recordOf(home);
    const crosses = state.crosses.map((cross) => ({ ...cross, notAfter: homes.now }));
    const expired = { ...record, state: { ...state, crosses } };
    expect(crosses).toHaveLength(1);
    expect(await chainAt(alone, expired)).toBeUndefined();
  });

  test('A probe of a server that still serves the old leaf holds the old CA until it reloads', async () => {
    const address = await serve({ requestCert: true, rejectUnauthorized: true });
    const server = servers.at(-1);
    const home = homes.mesh(
      `{name: web, presents: true, verifies: true, leaf: a, probe: {address: "${address}", mtls: true}}, {name: hot, presents: true, verifies: true, leaf: b, reload: hot}`,
    );
    await pass(home);
    const reload = () =>
      server?.setSecureContext({
        cert: secret(home, 'a', 'tls.crt'),
        key: secret(home, 'a', 'tls.key'),
        ca: secret(home, 'a', 'ca.crt'),
      });
    reload();
    await home.requests.ask({ authority: MESH_ID, rotate: 'r' });
    await pass(home);
    homes.later(30_000);
    expect((await pass(home)).plan.blockedBy.map(({ consumer }) => consumer)).toEqual(['web']);
    reload();
    expect((await pass(home)).plan.phase).toBe('Activating');
    homes.later(30_000);
    expect((await pass(home)).plan.blockedBy.map(({ consumer }) => consumer)).toEqual(['web']);
    reload();
    expect((await pass(home)).plan.phase).toBe('Stable');
  });
});

test('a server that goes over to its new leaf one process at a time still serves the old one', async () => {
  const home = homes.mesh('');
  await pass(home);
  const old = pairOf(home, 'a');
  await home.requests.ask({ authority: MESH_ID, rotate: 'r' });
  for (let passes = 0; passes < 4 && secret(home, 'a', 'tls.crt') === old.cert; passes++) {
    await pass(home);
    homes.later(30_000);
  }
  const renewed = pairOf(home, 'a');
  expect(renewed.cert).not.toBe(old.cert);
  const record = await recordOf(home);
  expect(record.state.generations).toHaveLength(2);
  const server = createServer(renewed);
  servers.push(server);
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  const address = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  const issuerOf = async (): Promise<string | undefined> =>
    (await probed({ address, mtls: false }, record))?.proofs[0]?.issuer;
  const [next, previous] = record.state.generations.map(({ anchors }) => anchors[0].fingerprint);
  expect(await issuerOf()).toBe(next);
  let connections = 0;
  server.on('connection', () => server.setSecureContext(connections++ === 2 ? old : renewed));
  expect(await issuerOf()).toBe(previous);
});
