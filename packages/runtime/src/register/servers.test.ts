import { constants, randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import tls, { type TlsOptions } from 'node:tls';
import { beforeEach, expect, test } from 'vitest';
import { next, Scope } from '../../test/fixture.ts';
import { clientOf, mtls, one, servedIdentity, two } from '../../test/served.ts';
import { hello } from '../../test/servers.ts';
import { listen, ok, readByte } from '../../test/world.ts';
import { FollowedMaterial } from './material.ts';
import { patchTls } from './patch.ts';

let scope: Scope;
beforeEach(() => {
  scope = new Scope();
});

/** Of a client elsewhere: under register a client drops old sessions itself. */
const connectElsewhere = tls.connect;
const SHARED_KEYS = randomBytes(48);

/** Keeps sessions by itself, as for replicas that share them. */
const withStore = (server: tls.Server): tls.Server => {
  const store = new Map<string, Buffer>();
  return server
    .on('newSession', (id, data, done) => {
      store.set(id.toString('hex'), data);
      done();
    })
    .on('resumeSession', (id, done) => done(null, store.get(id.toString('hex')) ?? null));
};

const SERVERS: readonly [string, TlsOptions, (server: tls.Server) => tls.Server][] = [
  ['tickets of TLS 1.3', { minVersion: 'TLSv1.3' }, (server) => server],
  ['tickets of TLS 1.2', { maxVersion: 'TLSv1.2' }, (server) => server],
  ['tickets with keys of the program', { ticketKeys: SHARED_KEYS }, (server) => server],
  ['a store of sessions', { maxVersion: 'TLSv1.2', secureOptions: constants.SSL_OP_NO_TICKET }, withStore],
  [
    'a store of sessions and a context of the program',
    { maxVersion: 'TLSv1.2', secureOptions: constants.SSL_OP_NO_TICKET, sessionIdContext: 'replicas' },
    withStore,
  ],
];

test('unchanged servers resume no session of a client whose CA was removed: by tickets, their own ticket keys, a session store', async () => {
  const { identity, volume, trustOnly } = await servedIdentity(scope);
  const trust = await scope.trust(volume);
  patchTls(new FollowedMaterial({ trust, identity, caOnly: false }));
  const [cert, key, ca] = ['tls.crt', 'tls.key', 'ca.crt'].map((name) => readFileSync(volume.path(name)));
  const [removed, kept] = [clientOf(one), clientOf(two)];
  const clients = await Promise.all(
    SERVERS.map(async ([name, given, keep]) => {
      const server = keep(tls.createServer({ ...mtls, cert, key, ca, ...given }, hello));
      const { port } = scope.add(await listen(server));
      const dial = (from: typeof removed, session?: Buffer) =>
        readByte({ port, ...from, ...(session === undefined ? {} : { session }) }, connectElsewhere);
      const [old, good] = [(await dial(removed)).session, (await dial(kept)).session];
      expect([name, (await dial(removed, old)).resumed]).toEqual([name, true]);
      return async () => ({
        name,
        removed: (await ok(dial(removed, old))) ? 'served' : 'refused',
        kept: (await dial(kept, good)).resumed ? 'resumed' : 'served anew',
      });
    }),
  );
  await Promise.all([next(trust, 'reloaded'), trustOnly(two)]);
  for (const [index, outcome] of clients.entries())
    expect(await outcome()).toEqual({ name: SERVERS[index]?.[0], removed: 'refused', kept: 'served anew' });
});
