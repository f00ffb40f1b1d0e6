import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { freePort } from '@handover/test-api-server';
import { expect, onTestFinished, test } from 'vitest';
import { build, folder, start } from '../real-process.ts';

const LONG = 120_000;

const isOpen = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => resolve(true)).on('error', () => resolve(false));
    socket.on('connect', () => socket.destroy());
  });

const resources = (port: number): string => `
apiVersion: handover.dev/v1alpha1
kind: Authority
metadata: {name: mesh}
spec:
  rotation: {reloadWithin: 24h}
  consumers:
    - {name: web, presents: true, verifies: true, leaf: web, probe: {address: "127.0.0.1:${port}", mtls: true}}
---
apiVersion: handover.dev/v1alpha1
kind: Leaf
metadata: {name: web}
spec: {authority: mesh, dnsNames: [web.local], usages: [server, client]}
`;

/** Verifies clients within the handshake, and says nothing to those it accepts: no ticket, no data. */
const silentServer = async (files: string, port: number): Promise<ChildProcess> => {
  const own = ['-cert', `${files}/tls.crt`, '-cert_chain', `${files}/tls.crt`, '-key', `${files}/tls.key`];
  const trust = ['-CAfile', `${files}/ca.crt`, '-Verify', '3', '-verify_return_error'];
  const args = ['s_server', '-accept', `127.0.0.1:${port}`, ...own, ...trust, '-num_tickets', '0', '-quiet'];
  const child = spawn('openssl', args, { stdio: ['pipe', 'ignore', 'ignore'] });
  onTestFinished(() => void child.kill('SIGKILL'));
  await expect.poll(() => isOpen(port), { timeout: LONG }).toBe(true);
  return child;
};

test('a probe sees whether a server without TLS 1.3 tickets, like Envoy, trusts the new CA', async () => {
  build();
  const [dir, port] = [folder(), await freePort()];
  writeFileSync(join(dir, 'handover.yaml'), resources(port), { mode: 0o644 });
  const pass = async (): Promise<string> => {
    expect(await start(['run', dir, '--once']).ended(LONG)).toMatchObject({ code: 0 });
    const { stdout } = await start(['status', '--json', '--home', `dir:${dir}`]).ended(LONG);
    return JSON.parse(stdout).authorities[0].phase;
  };
  await pass();
  const files = join(dir, 'out/default/secrets/web');
  const old = await silentServer(files, port);
  await start(['rotate', 'mesh', '--id', 'r', '--home', `dir:${dir}`]).ended(LONG);
  // The server has not read the new bundle: its owner's word, 24 h, must not count for it.
  expect(await pass()).toBe('Introducing');
  old.kill('SIGKILL');
  await once(old, 'close');
  await silentServer(files, port);
  expect(await pass()).toBe('Activating');
});
