import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer as createHttpServer } from 'node:http';
import {
  type AddressInfo,
  connect as connectPlain,
  createServer as createPlainServer,
  type Socket,
} from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createServer, type Server, type TlsOptions } from 'node:tls';
import { encodePem, type Instant, instant, parseCertificates } from '@handover/material';
import { afterAll, afterEach, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { Directories, loaded } from '../../test/directories.ts';
import { statusText } from '../../test/status-text.ts';
import { dealKey, MESH } from '../../test/world.ts';
import {
  type AuthorityRecord,
  Canaries,
  converge,
  DirectoryHome,
  localKeyring,
  probe,
  readDocument,
} from '../index.ts';

const directories = new Directories();
const scratch = mkdtempSync(join(tmpdir(), 'handover-evidence-'));
afterAll(() => {
  directories.end();
  rmSync(scratch, { recursive: true, force: true });
});
const servers: Server[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) server.close();
});
const MESH_ID = 'default/mesh';
const random = (bytes: number) => crypto.getRandomValues(new Uint8Array(bytes));
const log = { issued: async () => {} };
const tools = { canaries: new Canaries({ keyring: localKeyring(dealKey), keys: dealKey, random, log }) };

let path: string;
let now: Instant;
beforeEach(() => {
  now = instant(Date.now());
});
const homeWith = (consumers: string, leafA = ''): DirectoryHome => {
  path = directories.make(
    MESH.replace('{lifetime: 1y,', `{lifetime: 1y, consumers: [${consumers}],`).replace(
      'dnsNames: [a.local]',
      `dnsNames: [a.local]${leafA}`,
    ),
  );
  return new DirectoryHome(path, {
    clock: { now: () => now, steadySince: () => undefined },
    keys: dealKey,
  });
};
/** Until there is nothing to do, and no hook runs. */
const pass = async (home: DirectoryHome) => {
  for (;;) {
    const outcome = await converge(loaded(home), MESH_ID);
    if (!(await home.hooks.idle())) return outcome;
  }
};
/** Why hooks failed, after a pass. */
const failures = async (home: DirectoryHome): Promise<readonly string[]> =>
  (await pass(home)).observation.hooks.flatMap(({ hook, message }) =>
    message === null ? [] : [`${hook}: ${message}`],
  );
const later = (seconds: number): void => {
  now = instant(now + seconds * 1000);
};
const secret = (name: string, file: string) =>
  readFileSync(join(path, 'out/default/secrets', name, file), 'utf8');

/** What a process that loaded these files would say of itself. */
const document = (bundle: string, chain: string, at: Instant = now): string => statusText(bundle, chain, at);

describe('A consumer with a status document', () => {
  test('that never confirms withholds the leaf switch and is named; once it does, nothing waits for reloadWithin', async () => {
    const file = join(scratch, 'status.json');
    const other = join(scratch, 'other.json');
    const home = homeWith(
      `{name: slow, presents: true, verifies: true, leaf: a, status: {file: ${file}}}, {name: other, presents: true, verifies: true, leaf: b, status: {file: ${other}}}`,
    );
    const confirm = (): void => {
      writeFileSync(file, document(secret('a', 'ca.crt'), secret('a', 'tls.crt')));
      writeFileSync(other, document(secret('b', 'ca.crt'), secret('b', 'tls.crt')));
    };
    await pass(home);
    confirm();
    await home.requests.ask({ authority: MESH_ID, rotate: 'r' });
    const first = await pass(home);
    expect(first.plan.phase).toBe('Introducing');
    later(30);
    const stuck = await pass(home);
    expect(stuck.plan.phase).toBe('Introducing');
    expect(stuck.plan.blockedBy.map(({ consumer }) => consumer)).toContain('slow');
    for (const phase of ['Activating', 'Stable']) {
      confirm();
      expect((await pass(home)).plan.phase).toBe(phase);
    }
  });

  test('whose document is gone, old or garbage is waited for by name, whatever time passes', async () => {
    const file = join(scratch, 'gone.json');
    const home = homeWith(`{name: mute, presents: true, verifies: true, leaf: a, status: {file: ${file}}}`);
    await pass(home);
    await home.requests.ask({ authority: MESH_ID, rotate: 'r' });
    for (const text of [
      '{}',
      'garbage',
      document(secret('a', 'ca.crt'), secret('a', 'tls.crt'), instant(now - 60_000)),
    ]) {
      writeFileSync(file, text);
      await pass(home);
      later(100);
      const { plan } = await pass(home);
      expect(plan.phase).toBe('Introducing');
      expect(plan.blockedBy.map(({ consumer }) => consumer)).toEqual(['mute']);
    }
  });

  test('whose document lacks the field for what the consumer does is waited for, and the field is named', async () => {
    const file = join(scratch, 'partial.json');
    const home = homeWith(`{name: part, presents: true, verifies: true, leaf: a, status: {file: ${file}}}`);
    await pass(home);
    await home.requests.ask({ authority: MESH_ID, rotate: 'r' });
    const told = (change: (sources: { anchors?: string[]; leaf?: { issuerKeyId?: string } }[]) => void) => {
      const whole = JSON.parse(document(secret('a', 'ca.crt'), secret('a', 'tls.crt')));
      change(whole.sources);
      writeFileSync(file, JSON.stringify(whole));
    };
    const waits = async (): Promise<{ phase: string; waits: readonly string[] }> => {
      await pass(home);
      const { plan } = await pass(home);
      return { phase: plan.phase, waits: [...new Set(plan.blockedBy.map(({ waitsFor }) => waitsFor))] };
    };
    told((sources) => {
      for (const source of sources) delete source.anchors;
    });
    await pass(home);
    // reloadWithin has passed many times over.
    later(1_000);
    told((sources) => {
      for (const source of sources) delete source.anchors;
    });
    expect(await waits()).toEqual({
      phase: 'Introducing',
      waits: [`to load CA generation 2 (the status document of ${file} has no field sources[0].anchors)`],
    });
    told((sources) => {
      for (const source of sources) source.anchors = ['00'];
    });
    expect((await waits()).waits).toEqual([
      `to load CA generation 2 (the status document of ${file} lists no CA of this authority in sources[].anchors)`,
    ]);
    told(() => {});
    expect((await pass(home)).plan.phase).toBe('Activating');
    told((sources) => {
      for (const { leaf } of sources) delete leaf?.issuerKeyId;
    });
    await pass(home);
    later(1_000);
    told((sources) => {
      for (const { leaf } of sources) delete leaf?.issuerKeyId;
    });
    expect(await waits()).toEqual({
      phase: 'Activating',
      waits: [
        `to load a leaf of CA generation 2 (the status document of ${file} has no field sources[1].leaf.issuerKeyId)`,
      ],
    });
    told(() => {});
    expect((await pass(home)).plan.phase).toBe('Stable');
  });

  test('is asked over a unix socket or a URL, at a fixed path, without following redirects', async () => {
    const home = homeWith('');
    await pass(home);
    const record = (await home.authorities.load(MESH_ID)) as AuthorityRecord;
    const { askStatus } = await import('../index.ts');
    const asked: (string | undefined)[] = [];
    let answer: (response: {
      writeHead(code: number, headers?: object): { end(text?: string): void };
    }) => void;
    const server = createHttpServer((request, response) => {
      asked.push(request.url);
      answer(response);
    });
    const socket = join(scratch, 's.sock');
    await new Promise<void>((listening) => server.listen(socket, listening));
    const good = document(secret('a', 'ca.crt'), secret('a', 'tls.crt'));
    answer = (response) => response.writeHead(200).end(good);
    const said = await askStatus({ socket }, record, now);
    expect(said.proof).toMatchObject({
      by: 'acknowledged',
      complete: true,
      anchors: [expect.any(String)],
      issuer: expect.any(String),
    });
    for (const bad of [
      () => (answer = (response) => response.writeHead(302, { location: '/elsewhere' }).end()),
      () => (answer = (response) => response.writeHead(200).end(`${good}${' '.repeat(70_000)}`)),
    ]) {
      bad();
      expect((await askStatus({ socket }, record, now)).proof).toBeUndefined();
    }
    expect(new Set(asked)).toEqual(new Set(['/handover/status']));
    await new Promise((closed) => server.close(closed));
    expect((await askStatus({ socket }, record, now)).unread.leaf).toBe(
      `no status document from ${socket}: there is no such file`,
    );
    expect((await askStatus({ url: 'http://127.0.0.1:1/' }, record, now)).unread.trust).toBe(
      'no status document from http://127.0.0.1:1/: connection refused (ECONNREFUSED); start the program, or correct the address',
    );
  });

  test('of several sources the one that holds least counts', async () => {
    const home = homeWith('');
    await pass(home);
    const old = { bundle: secret('a', 'ca.crt'), chain: secret('a', 'tls.crt') };
    await home.requests.ask({ authority: MESH_ID, rotate: 'r' });
    await pass(home);
    const record = (await home.authorities.load(MESH_ID)) as AuthorityRecord;
    const both = JSON.parse(document(secret('a', 'ca.crt'), old.chain));
    const laggard = JSON.parse(document(old.bundle, old.chain));
    const text = JSON.stringify({ ...both, sources: [...both.sources, ...laggard.sources] });
    expect(readDocument(text, record, now).proof?.anchors).toHaveLength(1);
    expect(readDocument(JSON.stringify(both), record, now).proof?.anchors).toHaveLength(2);
  });

  test('one leaf without a readable issuer makes the document no evidence for any; notation does not matter', async () => {
    const home = homeWith('');
    await pass(home);
    const record = (await home.authorities.load(MESH_ID)) as AuthorityRecord;
    const good = JSON.parse(document(secret('a', 'ca.crt'), secret('a', 'tls.crt')));
    const read = (sources: unknown[]) => readDocument(JSON.stringify({ ...good, sources }), record, now);
    const issuer = read(good.sources).proof?.issuer;
    expect(issuer).toEqual(expect.any(String));
    const vague = read([...good.sources, { leaf: { fingerprint: 'ff' } }]);
    expect(vague.proof?.issuer).toBeUndefined();
    expect(vague.unread).toEqual({ leaf: 'has no field sources[2].leaf.issuerKeyId' });
    const [trust, identity] = good.sources;
    const colons = (text: string) => text.toUpperCase().replaceAll(/..(?!$)/g, '$&:');
    const loud = read([
      { ...trust, anchors: trust.anchors.map(colons) },
      { anchors: identity.anchors.map(colons), leaf: { issuerKeyId: colons(identity.leaf.issuerKeyId) } },
    ]);
    expect(loud.proof).toMatchObject({ issuer, anchors: trust.anchors });
  });

  test('that speaks for several processes counts only when all of them answered', async () => {
    const home = homeWith('');
    await pass(home);
    const record = (await home.authorities.load(MESH_ID)) as AuthorityRecord;
    const good = JSON.parse(document(secret('a', 'ca.crt'), secret('a', 'tls.crt')));
    const read = (processes: unknown) => readDocument(JSON.stringify({ ...good, processes }), record, now);
    expect(read([{ pid: 7 }, { pid: 8 }]).proof?.anchors).toHaveLength(1);
    expect(read([{ pid: 7 }, { pid: 8, silent: true }])).toEqual({
      unread: { trust: expect.stringContaining('process 8'), leaf: expect.stringContaining('process 8') },
    });
    expect(read([{ pid: 7 }, {}]).proof).toBeUndefined();
    expect(read('all').proof).toBeUndefined();
  });
});

const serve = async (options: TlsOptions): Promise<string> => {
  const server = createServer(options, (socket) => socket.on('error', () => {}));
  server.on('tlsClientError', () => {});
  servers.push(server);
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
};

describe('A probe', () => {
  const begin = async () => {
    const home = homeWith('');
    await pass(home);
    const files = { cert: secret('a', 'tls.crt'), key: secret('a', 'tls.key') };
    const oldCa = secret('a', 'ca.crt');
    await home.requests.ask({ authority: MESH_ID, rotate: 'r' });
    await pass(home);
    const record = (await home.authorities.load(MESH_ID)) as AuthorityRecord;
    const [next, current] = record.state.generations.map(({ anchors }) => anchors[0].fingerprint);
    return { home, files, oldCa, bothCas: secret('a', 'ca.crt'), record, next, current };
  };

  test.each(['TLSv1.2', 'TLSv1.3'] as const)(
    'shows over %s which leaf is served, and which CAs an mTLS server trusts',
    async (version) => {
      const { files, oldCa, bothCas, record, next, current } = await begin();
      const mtls = { requestCert: true, rejectUnauthorized: true, minVersion: version, maxVersion: version };
      const before = await probe(
        { authority: 'default/mesh', address: await serve({ ...files, ca: oldCa, ...mtls }), mtls: true },
        record,
        tools,
        now,
      );
      expect(before.proofs).toMatchObject([{ issuer: current }, { anchors: [current], refuses: [next] }]);
      const after = await probe(
        { authority: 'default/mesh', address: await serve({ ...files, ca: bothCas, ...mtls }), mtls: true },
        record,
        tools,
        now,
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

  test('of a port with several processes believes the one that has loaded least', async () => {
    const { files, oldCa, bothCas, record, next, current } = await begin();
    const mtls = { requestCert: true, rejectUnauthorized: true };
    const fresh = await serve({ ...files, ca: bothCas, ...mtls });
    const behind = await serve({ ...files, ca: oldCa, ...mtls });
    for (const order of [
      [fresh, fresh, fresh, behind],
      [fresh, behind],
    ]) {
      const address = await inTurn(...order);
      const seen = await probe({ authority: 'default/mesh', address, mtls: true }, record, tools, now);
      expect(seen.proofs[1]?.refuses).toContain(next);
      expect(seen.proofs[1]?.anchors).not.toContain(next);
      expect(seen.proofs[0]).toMatchObject({ issuer: current });
    }
    const dead = await inTurn(fresh, fresh, fresh, fresh, '127.0.0.1:1');
    const halved = await probe({ authority: 'default/mesh', address: dead, mtls: true }, record, tools, now);
    expect(halved.proofs.flatMap(({ anchors = [] }) => anchors)).not.toContain(next);
    expect(halved.proofs.flatMap(({ issuer = [] }) => issuer)).toEqual([]);
    expect(halved.unread.leaf).toMatch(/ends the handshake before it shows a certificate/);
  });

  test('believes no key id: the CA must have signed the leaf, and a leaf without a key id counts against all others', async () => {
    const { files, record } = await begin();
    const changed = (change: (der: Buffer) => void): TlsOptions => {
      const der = Buffer.from(parseCertificates(files.cert).certificates[0]?.der ?? []);
      change(der);
      return { ...files, cert: encodePem('CERTIFICATE', der) };
    };
    const forged = changed((der) => der.writeUInt8((der.at(-1) ?? 0) ^ 1, der.length - 1));
    const address = await serve(forged);
    const seen = await probe({ authority: 'default/mesh', address, mtls: false }, record, tools, now);
    expect(seen.proofs).toMatchObject([{ issuer: 'unknown' }]);
    // The object identifier of the extension becomes that of none.
    const nameless = changed((der) =>
      der.writeUInt8(0x7f, der.indexOf(Buffer.from('0603551d23', 'hex')) + 4),
    );
    const anonymous = await inTurn(await serve(files), await serve(nameless));
    const mixed = await probe(
      { authority: 'default/mesh', address: anonymous, mtls: false },
      record,
      tools,
      now,
    );
    expect(mixed.proofs).toEqual([]);
    expect(mixed.unread.leaf).toMatch(/serves a certificate without an authority key id/);
  });

  test('counts for nothing where the control is accepted too, or no server answers', async () => {
    const { files, bothCas, record, current } = await begin();
    const open = await serve({ ...files, ca: bothCas, requestCert: true, rejectUnauthorized: false });
    const shown = await probe({ authority: 'default/mesh', address: open, mtls: true }, record, tools, now);
    expect(shown.proofs).toEqual([
      { by: 'probed', at: now, issuer: current, leaves: [{ fingerprint: expect.any(String) }] },
    ]);
    expect(shown.unread).toEqual({
      trust: `${open} accepts a client certificate of an unknown CA, and so does not show which CAs it trusts`,
    });
    const none = await probe(
      { authority: 'default/mesh', address: '127.0.0.1:1', mtls: true },
      record,
      tools,
      now,
    );
    const why = '127.0.0.1:1 cannot be reached (ECONNREFUSED)';
    expect(none).toEqual({ proofs: [], stripsCross: false, unread: { trust: why, leaf: why } });
  });

  test.each([
    ['answers in clear text', (socket: Socket) => void socket.write('HTTP/1.1 400 Bad Request\r\n\r\n')],
    ['speaks first', (socket: Socket) => void socket.write('220 mail.local ESMTP\r\n')],
  ])('of a port that %s is no evidence, whatever time passes', async (_, answer) => {
    const plain = createPlainServer((socket) => {
      socket.on('error', () => {});
      answer(socket);
    });
    await new Promise<void>((listening) => plain.listen(0, '127.0.0.1', listening));
    const address = `127.0.0.1:${(plain.address() as AddressInfo).port}`;
    const home = homeWith(
      `{name: web, presents: true, leaf: a, probe: {address: "${address}"}}, {name: hot, presents: true, verifies: true, leaf: b, reload: hot}`,
    );
    await pass(home);
    await home.requests.ask({ authority: MESH_ID, rotate: 'r' });
    for (let passes = 0; passes < 6; passes++) {
      await pass(home);
      later(100);
    }
    const { plan } = await pass(home);
    expect(plan.phase).toBe('Activating');
    expect(plan.blockedBy).toMatchObject([
      { consumer: 'web', waitsFor: `to load a leaf of CA generation 2 (${address} does not speak TLS)` },
    ]);
    plain.close();
  });

  test('sees a presenter that strips the cross-certificate from its chain', async () => {
    const { home } = await begin();
    later(20);
    await pass(home);
    const record = (await home.authorities.load(MESH_ID)) as AuthorityRecord;
    const chain = secret('a', 'tls.crt');
    const whole = await serve({ cert: chain, key: secret('a', 'tls.key') });
    const alone = await serve({
      cert: parseCertificates(chain).certificates[0]?.pem,
      key: secret('a', 'tls.key'),
    });
    expect(
      (await probe({ authority: 'default/mesh', address: whole, mtls: false }, record, tools, now))
        ?.stripsCross,
    ).toBe(false);
    expect(
      (await probe({ authority: 'default/mesh', address: alone, mtls: false }, record, tools, now))
        ?.stripsCross,
    ).toBe(true);
  });

  test('of a server that still serves the old leaf holds the old CA until it reloads', async () => {
    const address = await serve({ requestCert: true, rejectUnauthorized: true });
    const server = servers.at(-1);
    const home = homeWith(
      `{name: web, presents: true, verifies: true, leaf: a, probe: {address: "${address}", mtls: true}}, {name: hot, presents: true, verifies: true, leaf: b, reload: hot}`,
    );
    await pass(home);
    const reload = () =>
      server?.setSecureContext({
        cert: secret('a', 'tls.crt'),
        key: secret('a', 'tls.key'),
        ca: secret('a', 'ca.crt'),
      });
    reload();
    await home.requests.ask({ authority: MESH_ID, rotate: 'r' });
    await pass(home);
    later(30);
    expect((await pass(home)).plan.blockedBy.map(({ consumer }) => consumer)).toEqual(['web']);
    reload();
    expect((await pass(home)).plan.phase).toBe('Activating');
    later(30);
    expect((await pass(home)).plan.blockedBy.map(({ consumer }) => consumer)).toEqual(['web']);
    reload();
    expect((await pass(home)).plan.phase).toBe('Stable');
  });
});

describe('A reload hook', () => {
  test('runs after each write of its files, as a command without a shell, and not otherwise', async () => {
    const log = join(scratch, 'reloads $(x)');
    const command = JSON.stringify([
      process.execPath,
      '-e',
      'require("fs").appendFileSync(process.argv[1], "r")',
      log,
    ]);
    const home = homeWith('', `, reload: {command: ${command}}`);
    const count = () => readFileSync(log, 'utf8').length;
    await pass(home);
    expect(count()).toBe(1);
    await pass(home);
    expect(count()).toBe(1);
    await home.requests.ask({ authority: MESH_ID, rotate: 'r' });
    await pass(home);
    expect(count()).toBe(2);
  });

  test('that fails keeps reloadWithin from passing, until it works', async () => {
    const flag = join(scratch, 'works');
    const command = JSON.stringify([
      process.execPath,
      '-e',
      'process.exit(require("fs").existsSync(process.argv[1]) ? 0 : 3)',
      flag,
    ]);
    writeFileSync(flag, '');
    const home = homeWith('', `, reload: {command: ${command}}`);
    await pass(home);
    rmSync(flag);
    await home.requests.ask({ authority: MESH_ID, rotate: 'r' });
    expect(await failures(home)).toEqual([expect.stringMatching(/^Leaf default\/a: .* ended with 3/)]);
    later(1000);
    expect((await pass(home)).plan.phase).toBe('Introducing');
    writeFileSync(flag, '');
    later(300);
    await pass(home);
    expect((await pass(home)).plan.phase).toBe('Introducing');
    later(20);
    expect((await pass(home)).plan.phase).toBe('Activating');
  });

  test('sends a signal to the pid in a file, or asks over HTTP', async () => {
    const pidFile = join(scratch, 'pid');
    const code =
      "process.once('SIGUSR2', () => process.exit(7)); setInterval(() => {}, 1000); console.log('up')";
    const program = spawn(process.execPath, ['-e', code]);
    await once(program.stdout, 'data');
    writeFileSync(pidFile, `${program.pid}\n`);
    const home = homeWith('', `, reload: {signal: {pidFile: ${pidFile}, signal: SIGUSR2}}`);
    const closed = once(program, 'close');
    expect(await failures(home)).toEqual([]);
    expect(await closed).toEqual([7, null]);
    writeFileSync(pidFile, '-1');
    const other = homeWith('', `, reload: {signal: {pidFile: ${pidFile}}}`);
    expect((await failures(other))[0]).toContain('holds no pid');
    const asked: (string | undefined)[] = [];
    const server = createHttpServer((request, response) => {
      asked.push(`${request.method} ${request.url}`);
      response.writeHead(asked.length === 1 ? 500 : 204).end();
    });
    await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
    const { port } = server.address() as AddressInfo;
    const third = homeWith('', `, reload: {http: {url: "http://127.0.0.1:${port}/reload"}}`);
    expect(await failures(third)).toEqual([expect.stringContaining('answered with status 500')]);
    later(300);
    expect(await failures(third)).toEqual([]);
    expect(new Set(asked)).toEqual(new Set(['POST /reload']));
    server.close();
  });
});

test('a hook whose server goes over to another protocol, or says nothing, has failed', async () => {
  for (const [answer, why] of [
    [
      'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n',
      'answered with status 101',
    ],
    ['', /connection (broke off|ended)/],
  ] as const) {
    const server = createPlainServer(
      (socket) =>
        void socket
          .on('error', () => {})
          .resume()
          .end(answer),
    );
    await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
    onTestFinished(() => void server.close());
    const { port } = server.address() as AddressInfo;
    const home = homeWith('', `, reload: {http: {url: "http://127.0.0.1:${port}/"}}`);
    expect(await failures(home)).toEqual([expect.stringMatching(why)]);
  }
});

test('a server that goes over to its new leaf one process at a time still serves the old one', async () => {
  const home = homeWith('');
  await pass(home);
  const old = { cert: secret('a', 'tls.crt'), key: secret('a', 'tls.key') };
  await home.requests.ask({ authority: MESH_ID, rotate: 'r' });
  for (let passes = 0; passes < 4 && secret('a', 'tls.crt') === old.cert; passes++) {
    await pass(home);
    later(30);
  }
  const renewed = { cert: secret('a', 'tls.crt'), key: secret('a', 'tls.key') };
  expect(renewed.cert).not.toBe(old.cert);
  const record = (await home.authorities.load(MESH_ID)) as AuthorityRecord;
  expect(record.state.generations).toHaveLength(2);
  const server = createServer(renewed);
  servers.push(server);
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  const address = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  const issuerOf = async (): Promise<string | undefined> =>
    (await probe({ authority: 'default/mesh', address, mtls: false }, record, tools, now))?.proofs[0]?.issuer;
  const [next, previous] = record.state.generations.map(({ anchors }) => anchors[0].fingerprint);
  expect(await issuerOf()).toBe(next);
  let connections = 0;
  server.on('connection', () => server.setSecureContext(connections++ === 2 ? old : renewed));
  expect(await issuerOf()).toBe(previous);
});
