// Against: servers of node:tls, node:https, node:http2 and gRPC.
import { once } from 'node:events';
import { connect as connectHttp2, createSecureServer } from 'node:http2';
import { createServer as createHttpsServer } from 'node:https';
import { connect, createServer as createTlsServer } from 'node:tls';
import { instant } from '@handover/material';
import { atRest, TestClock } from '@handover/test-api-server';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { echo, echoClient, grpcListen } from '../test/adapters.ts';
import { files, passing, Scope } from '../test/fixture.ts';
import { type Leaf, MockCa } from '../test/mock-ca.ts';
import { mtls } from '../test/served.ts';
import { KINDS } from '../test/servers.ts';
import { chatter, type Heard, hearing } from '../test/talking.ts';
import type { Volume } from '../test/volume.ts';
import { eventually, listen, ok, readByte } from '../test/world.ts';
import * as read from './files/read-files.ts';
import type { Watched } from './files/resolve-path.ts';
import { credentials } from './grpc.ts';
import type { Identity } from './index.ts';

/** Five times the bound of the scenario: a swapped file is in use within 1 s. */
const WITHIN_MS = 5_000;
const HOUR = 3_600_000;

const watch = vi.hoisted(() => ({ isDeaf: false }));
vi.mock('./files/read-files.ts', { spy: true });
vi.mock('./files/watch-directories.ts', async (original) => {
  const { DirectoryWatches } = await original<typeof import('./files/watch-directories.ts')>();
  class Mutant extends DirectoryWatches {
    constructor(changed: (kind: Watched) => void) {
      super((kind) => {
        if (!watch.isDeaf) changed(kind);
      });
    }
  }
  return { DirectoryWatches: Mutant };
});

const [one, two, three] = [new MockCa('one'), new MockCa('two'), new MockCa('three')];
let clock: TestClock;
let scope: Scope;
beforeEach(() => {
  clock = new TestClock(instant(Date.now()));
  scope = new Scope(clock);
});
afterEach(() => {
  watch.isDeaf = false;
});

interface Started {
  readonly port: number;
  readonly volume: Volume;
  readonly identity: Identity;
  /** A full handshake, or one with a session, by a client that trusts that server's CA. Rejects when either side refuses. */
  as(client: Leaf, server: MockCa, session?: Buffer): ReturnType<typeof readByte>;
}

interface Kind {
  readonly name: string;
  listen(identity: Identity): Promise<{ readonly port: number; close(): Promise<void> }>;
  readonly client?: { readonly ALPNProtocols: string[] };
}

const SERVERS: readonly Kind[] = [
  ...KINDS.map(([name, create]) => ({
    name: `${name} server`,
    listen: (identity: Identity) => listen(identity.serve(create(mtls))),
  })),
  // An HTTP/2 server speaks first, too.
  { name: 'gRPC server', listen: grpcListen, client: { ALPNProtocols: ['h2'] } },
];

/** A server with a certificate of the first CA. Its clients are those of all. */
const start = async (kind: Kind, ca: MockCa, ...more: MockCa[]): Promise<Started> => {
  const volume = scope.volume(files(ca.leaf(), ca, ...more));
  const identity = await scope.identity(volume);
  const { port } = scope.add(await kind.listen(identity));
  return {
    port,
    volume,
    identity,
    as: (client, server, session) =>
      readByte({ port, ca: server.pem, ...client, ...kind.client, ...(session ? { session } : {}) }),
  };
};

/** A server that moves from CA to CA. After each swap it is reached within the bound with the new CA, in both directions. */
async function follows(kind: Kind, moves: readonly MockCa[], swapped?: () => void): Promise<void> {
  const { volume, as } = await start(kind, one);
  let before = one;
  await as(one.leaf(), one);
  for (const [index, ca] of moves.entries()) {
    const end = clock.monotonic() + WITHIN_MS;
    volume.write(files(ca.leaf(), ca));
    await atRest();
    while (!(await ok(as(ca.leaf(), ca)))) {
      if (clock.monotonic() >= end) throw new Error(`not within ${WITHIN_MS} ms after swap ${index + 1}`);
      await clock.advance(1_000);
    }
    expect(await ok(as(before.leaf(), ca))).toBe(false);
    before = ca;
    swapped?.();
  }
}

describe.each(SERVERS)('S2 of a $name', (kind) => {
  test('2 and 12: two swaps in a row of its certificate and client CAs are both seen', () =>
    follows(kind, [two, three]));

  test('3 and 12: a hundred handshakes at the moment of a reload cost one read, and all succeed', async () => {
    const { port, volume } = await start(kind, one, two);
    const path = volume.path('tls.crt');
    const reads = () =>
      vi.mocked(read.readAll).mock.calls.filter(([paths]) => JSON.stringify(paths).includes(path)).length;
    const before = reads();
    const client = one.leaf();
    const ask = () => readByte({ port, ca: one.pem + two.pem, ...client, ...kind.client });
    const early = Array.from({ length: 50 }, ask);
    volume.write(files(two.leaf(), two, one));
    const asked = [...early, ...Array.from({ length: 50 }, ask)];
    expect((await Promise.allSettled(asked)).filter(({ status }) => status === 'rejected')).toEqual([]);
    await eventually(() => ok(readByte({ port, ca: two.pem, ...client, ...kind.client })));
    expect(reads() - before).toBe(1);
  });

  test('8 and 12: the same bytes written again leave its connections and sessions alone', async () => {
    const leaf = one.leaf();
    const { port, volume, identity, as } = await start(kind, one);
    volume.write(files(leaf, one));
    await identity.reload();
    const client = one.leaf();
    const { session } = await as(client, one);
    const open = connect({ port, host: 'localhost', ca: one.pem, ...client, ...kind.client });
    scope.after(() => open.destroy());
    await once(
      open.on('error', () => undefined),
      'data',
    );
    const context = identity.secureContext();
    const reloaded = vi.fn();
    identity.on('reloaded', reloaded);
    volume.write(files(leaf, one));
    expect(await identity.reload()).toEqual({ reason: 'unchanged' });
    volume.write({ ...files(leaf, one), 'ca.crt': `# a comment\n${one.pem}` });
    expect(await identity.reload()).toEqual({ reason: 'unchanged' });
    expect(reloaded).not.toHaveBeenCalled();
    expect(identity.secureContext()).toBe(context);
    expect((await as(client, one, session)).resumed).toBe(true);
    expect(open.destroyed).toBe(false);
  });
});

test.each(SERVERS)(
  'the scenarios fail with a $name that stops watching after the first swap',
  async (kind) => {
    const deafen = (): void => {
      watch.isDeaf = true;
    };
    await expect(follows(kind, [two, three], deafen)).rejects.toThrow('after swap 2');
  },
);

type Talk = (identity: Identity, client: Leaf) => Promise<Heard>;

const TALKS: readonly (readonly [name: string, talk: Talk])[] = [
  [
    'tls',
    async (identity, client) => {
      let finish = (): void => undefined;
      const server = createTlsServer(mtls, (socket) => {
        socket.on('error', () => undefined);
        finish = chatter(
          scope,
          (text) => socket.write(text),
          (text) => socket.end(text),
        );
      });
      const { port } = scope.add(await listen(identity.serve(server)));
      const socket = connect({ port, host: 'localhost', ca: two.pem, ...client });
      scope.after(() => socket.destroy());
      return hearing(socket, () => finish());
    },
  ],
  [
    'https',
    async (identity, client) => {
      let finish = (): void => undefined;
      const server = createHttpsServer(mtls, (_request, response) => {
        finish = chatter(
          scope,
          (text) => response.write(text),
          (text) => response.end(text),
        );
      });
      const { port } = scope.add(await listen(identity.serve(server)));
      const socket = connect({ port, host: 'localhost', ca: two.pem, ...client });
      scope.after(() => socket.destroy());
      socket.write('GET / HTTP/1.1\r\nhost: localhost\r\n\r\n');
      return hearing(socket, () => finish());
    },
  ],
  [
    'http2',
    async (identity, client) => {
      let finish = (): void => undefined;
      const server = createSecureServer(mtls).on('stream', (stream) => {
        stream.on('error', () => undefined).respond({ ':status': 200 });
        finish = chatter(
          scope,
          (text) => stream.write(text),
          (text) => stream.end(text),
        );
      });
      const { url } = scope.add(await listen(identity.serve(server)));
      const session = connectHttp2(url, { ca: two.pem, ...client });
      session.on('error', () => undefined);
      scope.after(() => session.destroy());
      const heard = hearing(session.request({ ':path': '/' }), () => finish());
      const again = async () => once(session.request({ ':path': '/' }), 'response');
      return { ...heard, again };
    },
  ],
  [
    'gRPC',
    async (identity, client) => {
      const target = scope.add(await grpcListen(identity));
      const trusted = scope.volume(files(client, two));
      const channel = credentials(await scope.trust(trusted), await scope.identity(trusted, { ca: false }));
      const caller = scope.add(echoClient(target as never, channel));
      const heard = hearing(caller.watch(Buffer.from('go')), () => target.endStreams());
      return { ...heard, again: () => echo(caller) };
    },
  ],
];

test.each(TALKS)(
  'S2.7: what a server of %s says goes on for an hour after the CA of its client was removed, and nothing new begins',
  async (_, talk) => {
    const leaf = two.leaf();
    const volume = scope.volume(files(leaf, two, one));
    const identity = await scope.identity(volume);
    const cut = vi.fn();
    identity.on('cut', cut);
    const heard = await talk(identity, one.leaf());
    await eventually(() => heard.count() > 3);
    volume.write(files(leaf, two));
    await identity.reload();
    await passing(clock, HOUR, heard);
    expect(heard.isCut()).toBe(false);
    if (heard.again !== undefined) expect(await ok(heard.again())).toBe(false);
    await heard.finish();
    expect(heard.isCut()).toBe(false);
    expect(cut).not.toHaveBeenCalled();
  },
);
