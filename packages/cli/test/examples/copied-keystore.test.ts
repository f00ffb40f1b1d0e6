import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { connect } from 'node:tls';
import { fileURLToPath } from 'node:url';
import { freePort } from '@handover/test-api-server';
import { expect, onTestFinished, test } from 'vitest';
import { directory, handover, started } from './around.ts';
import { program } from './programs.ts';

const yaml = (port: number): string => `
apiVersion: handover.dev/v1alpha1
kind: Authority
metadata: { name: internal }
spec:
  rotation: { reloadWithin: 1s }
  consumers:
    - { name: java, presents: true, leaf: java, probe: { address: "127.0.0.1:${port}" } }
---
apiVersion: handover.dev/v1alpha1
kind: Leaf
metadata: { name: java }
spec:
  authority: internal
  dnsNames: [localhost]
  ipAddresses: [127.0.0.1]
  outputs:
    - { name: java.p12, format: pkcs12, alias: server, passwordFrom: { file: password } }
  reload: { restart: { command: [sh, -c, 'touch asked; while test -e asked; do sleep 0.1; done'] } }
`;

/** One handshake of a client that reads the bundle each time; undefined: success, or no server at all. */
const call = (port: number, ca: string): Promise<string | undefined> =>
  new Promise((resolve) => {
    const socket = connect({ port, host: '127.0.0.1', servername: 'localhost', ca: readFileSync(ca) });
    const end = (problem?: string): void => {
      socket.destroy();
      resolve(problem);
    };
    socket.on('secureConnect', () => end());
    socket.on('error', ({ code, message }: NodeJS.ErrnoException) =>
      end(code === 'ECONNREFUSED' || code === 'ECONNRESET' ? undefined : (code ?? message)),
    );
  });

/** A JVM on a volume of its own: its start copies the keystore there if there is none, as the entrypoints of many images do. */
class JavaOnVolume {
  readonly copy: string;
  readonly #dir: string;
  readonly #port: number;
  #child: ChildProcess | undefined;
  constructor(dir: string, port: number) {
    this.#dir = dir;
    this.#port = port;
    mkdirSync(join(dir, 'volume'));
    this.copy = join(dir, 'volume/java.p12');
  }
  async start(): Promise<void> {
    const [dir, port, copy] = [this.#dir, this.#port, this.copy];
    const source = fileURLToPath(new URL('java/Peer.java', import.meta.url));
    const issued = join(dir, 'out/default/secrets/java/java.p12');
    const serve = ['-Xmx128m', source, join(dir, 'password'), copy, 'PKCS12', String(port), copy, 'PKCS12'];
    const script = 'test -e "$0" || cp "$1" "$0"; shift; exec java "$@"';
    this.#child = started(
      spawn('sh', ['-c', script, copy, issued, ...serve], { stdio: ['pipe', 'ignore', 'inherit'] }),
    );
    const ca = join(dir, 'out/default/configmaps/internal-trust/ca.crt');
    const answers = (): Promise<boolean> =>
      new Promise((resolve) => {
        const socket = connect({ port, host: '127.0.0.1', ca: readFileSync(ca), rejectUnauthorized: false });
        socket.on('secureConnect', () => resolve(true)).on('error', () => resolve(false));
        socket.on('secureConnect', () => socket.destroy());
      });
    await expect.poll(answers, { timeout: 60_000 }).toBe(true);
  }
  async restart(): Promise<void> {
    this.#child?.kill('SIGKILL');
    if (this.#child !== undefined) await once(this.#child, 'close');
    await this.start();
  }
}

test('a JVM that keeps a copy of its keystore on a volume keeps the old CA trusted, however often it is restarted', async () => {
  program('default-jdk-headless');
  const dir = directory();
  const port = await freePort();
  writeFileSync(join(dir, 'password'), 'a word of many\n', { mode: 0o600 });
  writeFileSync(join(dir, 'handover.yaml'), yaml(port), { mode: 0o644 });
  await handover('run', dir, '--once');
  const java = new JavaOnVolume(dir, port);
  await java.start();

  const problems: string[] = [];
  let [calls, restarts] = [0, 0];
  const over = new AbortController();
  onTestFinished(() => over.abort());
  const asked = join(dir, 'asked');
  const loads = (async () => {
    for (; !over.signal.aborted; calls++) {
      const problem = await call(port, join(dir, 'out/default/configmaps/internal-trust/ca.crt'));
      if (problem !== undefined) problems.push(problem);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  })();
  const supervises = (async () => {
    while (!over.signal.aborted) {
      if (existsSync(asked)) {
        await java.restart();
        restarts++;
        rmSync(asked);
      }
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  })();
  const rotate = (timeout: string) =>
    handover('rotate', 'internal', '--id', 'away', '--wait', '--timeout', timeout, '--home', `dir:${dir}`);
  const status = async () => JSON.parse((await handover('status', '--json', '--home', `dir:${dir}`)).stdout);

  expect((await rotate('45s')).code).toBe(1);
  expect(restarts).toBeGreaterThan(0);
  const [waiting] = (await status()).authorities;
  expect(waiting).toMatchObject({
    phase: 'Activating',
    generations: [{ role: 'current' }, { role: 'previous' }],
    blockedBy: [
      { consumer: 'java', waitsFor: expect.stringContaining('does it start from a copy that it keeps?') },
    ],
  });

  // What the message asks for: the copy goes, and the program starts once more.
  rmSync(java.copy);
  expect((await handover('reload', 'java', '--home', `dir:${dir}`)).code).toBe(0);
  expect((await rotate('2m')).code).toBe(0);
  const soFar = calls;
  await expect.poll(() => calls, { timeout: 30_000 }).toBeGreaterThan(soFar + 3);
  over.abort();
  await Promise.all([loads, supervises]);
  expect((await status()).authorities[0]).toMatchObject({
    phase: 'Stable',
    generations: [{ generation: 2 }],
  });
  expect(problems).toEqual([]);
  console.log(
    `JVM with a copied keystore: ${calls} handshakes, ${problems.length} failed, ${restarts} restarts`,
  );
});
