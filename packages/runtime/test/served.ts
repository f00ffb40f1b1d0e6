import { once } from 'node:events';
import { createServer as createGate, connect as dial, type Socket } from 'node:net';
import type { Server } from 'node:tls';
import { files, next, type Scope } from './fixture.ts';
import { MockCa } from './mock-ca.ts';
import { listen } from './world.ts';

export const one = new MockCa('one');
export const two = new MockCa('two');
export const mtls = { requestCert: true, rejectUnauthorized: true };

/** The identity of a server of CA two whose clients come from CA one and CA two. */
export async function servedIdentity(scope: Scope, drainMs?: number) {
  const leaf = two.leaf();
  const volume = scope.volume(files(leaf, two, one));
  const identity = await scope.identity(volume, { drainMs });
  const trustOnly = async (...kept: MockCa[]) => {
    const reloaded = next(identity, 'reloaded');
    volume.write(files(leaf, ...kept));
    await reloaded;
  };
  return { identity, volume, trustOnly };
}

/** That identity in a running server. */
export async function servedWorld(scope: Scope, server: Server, drainMs?: number) {
  const { identity, trustOnly } = await servedIdentity(scope, drainMs);
  const target = scope.add(await listen(identity.serve(server)));
  return { identity, target, trustOnly };
}

/** What a client of a CA connects with. */
export const clientOf = (ca: MockCa) => ({ ...ca.leaf(), ca: two.pem });

/** Lets the first bytes of a client through, and the rest when it is opened. */
export async function gateTo(scope: Scope, port: number) {
  const held: Buffer[] = [];
  let upstream: Socket | undefined;
  let isOpen = false;
  const gate = createGate((client) => {
    const server = dial(port, '127.0.0.1');
    client.on('error', () => server.destroy()).on('close', () => server.destroy());
    server.on('error', () => client.destroy()).on('close', () => client.destroy());
    server.on('data', (bytes) => client.write(bytes));
    client.on('data', (bytes) => {
      if (upstream === undefined || isOpen) server.write(bytes);
      else held.push(bytes);
      upstream ??= server;
    });
  }).listen(0, '127.0.0.1');
  await once(gate, 'listening');
  scope.add(gate);
  return {
    port: (gate.address() as { port: number }).port,
    isHolding: () => held.length > 0,
    open: () => {
      isOpen = true;
      for (const bytes of held.splice(0)) upstream?.write(bytes);
    },
  };
}
