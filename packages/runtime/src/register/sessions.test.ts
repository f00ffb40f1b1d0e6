import { once } from 'node:events';
import tls from 'node:tls';
import { beforeEach, expect, test } from 'vitest';
import { next, Scope } from '../../test/fixture.ts';
import { MockCa } from '../../test/mock-ca.ts';
import { hello } from '../../test/servers.ts';
import { listen } from '../../test/world.ts';
import { FollowedMaterial } from './material.ts';
import { patchTls } from './patch.ts';

const [one, two] = [new MockCa('one'), new MockCa('two')];
let scope: Scope;
beforeEach(() => {
  scope = new Scope();
});

test('under register a copy of a session does not resume past the removal of its CA', async () => {
  const target = scope.add(await listen(tls.createServer({ ...one.leaf(), maxVersion: 'TLSv1.2' }, hello)));
  const volume = scope.volume({ 'ca.crt': one.pem + two.pem });
  const trust = await scope.trust(volume);
  patchTls(new FollowedMaterial({ trust, caOnly: true }));
  const dial = async (session?: Buffer) => {
    const socket = tls.connect({ port: target.port, host: 'localhost', ...(session ? { session } : {}) });
    scope.after(() => socket.destroy());
    let event = Buffer.alloc(0);
    socket.on('session', (fresh) => {
      event = fresh;
    });
    await once(socket, 'data');
    return { resumed: socket.isSessionReused(), session: socket.getSession(), event };
  };
  const { session, event } = await dial();
  const copies = [session, Buffer.from(event), event];
  for (const copy of copies) expect((await dial(copy)).resumed).toBe(true);
  const reloaded = next(trust, 'reloaded');
  volume.write({ 'ca.crt': two.pem });
  await reloaded;
  for (const copy of copies) await expect(dial(copy)).rejects.toThrow(/unable to verify|issuer/);
});
