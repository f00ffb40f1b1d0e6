import { follow } from './files/follower.ts';
import { openHeldIdentity } from './held-identity.ts';
import type { Identity } from './identity.ts';
import { resolveFollowOptions } from './options.ts';
import { MockCa } from './testing/mock-ca.ts';
import { Trust, type TrustMaterial, trustMaterial } from './trust.ts';

/**
 * A certificate authority in memory, with an identity and a trust of it, for tests of programs that use the runtime.
 *
 * @example
 * ```ts
 * import { openTestMesh, type TestMesh } from '@handover/runtime/testing';
 *
 * const mesh: TestMesh = await openTestMesh();
 * await mesh.spoil();
 * console.log(mesh.trust.status().lastFailure?.reason); // empty
 * mesh.close();
 * ```
 */
export interface TestMesh {
  /** Serves as localhost and 127.0.0.1, and connects. */
  readonly identity: Identity;
  /** Trusts the authority. */
  readonly trust: Trust;
  /**
   * Replaces the CA as a rotation does: trust in both CAs, then a leaf of the new one, then trust in the new one alone.
   * Resolves when identity and trust have loaded the last step.
   */
  rotate(): Promise<void>;
  /** Makes the next files unusable, as a bad write would: the last good material stays in use. Ends with the next `rotate()`. */
  spoil(): Promise<void>;
  /** Ends following, as an aborted signal does. */
  close(): void;
}

const NAME = 'memory';

/**
 * Makes a CA in memory, and an identity and a trust that follow it. No file is written. Not for production: its certificates
 * are valid for 90 days, and their key is in this process.
 *
 * @example
 * ```ts
 * import { createServer } from 'node:https';
 * import { openTestMesh } from '@handover/runtime/testing';
 *
 * const mesh = await openTestMesh();
 * const server = mesh.identity.serve(createServer((_, response) => response.end('hello')));
 * await new Promise<void>((listening) => server.listen(0, '127.0.0.1', () => listening()));
 * const { port } = server.address() as { port: number };
 * await mesh.rotate();
 * const response = await mesh.trust.fetch(`https://localhost:${port}/`);
 * console.log(await response.text()); // hello
 * mesh.close();
 * server.close();
 * ```
 */
export async function openTestMesh(): Promise<TestMesh> {
  const ending = new AbortController();
  const { signal } = ending;
  let ca = new MockCa('test');
  let leaf = ca.leaf();
  let bundle = ca.pem;
  let spoilt = false;
  const pem = (text: string) => (spoilt ? '' : text);
  const identity = await openHeldIdentity(
    NAME,
    () => ({ cert: pem(leaf.cert), key: leaf.key, ca: pem(bundle) }),
    { signal },
  );
  const path = `ca.crt of ${NAME}`;
  const trust = new Trust(
    await follow<'ca', TrustMaterial>({
      files: { ca: path },
      maxBytes: Number.POSITIVE_INFINITY,
      read: () => ({ ca: Buffer.from(pem(bundle)) }),
      load: ({ ca: bytes }) => trustMaterial(bytes, path),
      options: resolveFollowOptions({ signal }),
    }),
    true,
  );
  const load = async () => {
    await trust.reload();
    await identity.reload();
  };
  return {
    identity,
    trust,
    rotate: async () => {
      spoilt = false;
      const next = new MockCa('test');
      bundle = next.pem + ca.pem;
      await load();
      leaf = next.leaf();
      await load();
      ca = next;
      bundle = next.pem;
      await load();
    },
    spoil: async () => {
      spoilt = true;
      await load();
    },
    close: () => ending.abort(),
  };
}
