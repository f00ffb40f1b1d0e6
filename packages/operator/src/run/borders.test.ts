import { execFileSync } from 'node:child_process';
import { constants, mkdtempSync, openSync, rmSync } from 'node:fs';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { configMaps, type KubeObject, pods, services } from '@handover/kube';
import { beforeEach, expect, onTestFinished, test } from 'vitest';
import { OperatorWorld } from '../../test/world.ts';

let world: OperatorWorld;
beforeEach(async () => {
  world = await OperatorWorld.open({ namespaces: ['evil'] });
});

/** Fifty consumers at a port that takes connections and never says a word. */
const tarpits = async (): Promise<readonly object[]> => {
  const sockets = new Set<Socket>();
  const tar = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => {});
  });
  await new Promise<void>((resolve) => tar.listen(0, '127.0.0.1', resolve));
  const { port } = tar.address() as AddressInfo;
  await world.kube.create(services, {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { namespace: 'evil', name: 'tar' },
    spec: { selector: { app: 'tar' }, ports: [{ port: 443, targetPort: port }] },
  } as KubeObject);
  await world.kube.create(pods, {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { namespace: 'evil', name: 'tar', labels: { app: 'tar' } },
    spec: { containers: [{ name: 'main' }] },
    status: { phase: 'Running', podIP: '127.0.0.1' },
  } as KubeObject);
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    tar.close();
  });
  return Array.from({ length: 50 }, (_, index) => ({
    name: `c${index}`,
    verifies: true,
    probe: { address: 'tar:443', mtls: true },
  }));
};

test('fifty silent consumers of one namespace do not delay a leaf of another', async () => {
  await world.authority({ consumers: await tarpits() }, 'evil/silent');
  await world.authority();
  world.operate();
  await world.leaf('prod/first');
  await world.issued('prod/first');
  await world.leaf('evil/theirs', { authority: 'silent' });
  for (let index = 0; index < 3; index++) {
    await world.leaf(`prod/web${index}`);
    await world.issued(`prod/web${index}`, 1_000);
  }
});

test('a file that an Authority names is never opened; it blocks only that Authority’s rotation, with the reason', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'handover-operator-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const fifo = join(folder, 'status');
  execFileSync('mkfifo', [fifo]);
  await world.authority({
    consumers: [{ name: 'db', verifies: true, status: { file: fifo } }],
    rotation: { reloadWithin: '1s' },
  });
  await world.leaf('prod/web');
  world.operate();
  await world.issued('prod/web');
  await world.rotate();
  await world.blocker(/^db: .*to load CA generation 2 \(the operator opens no status\.file/);
  // With a reader at its other end this would succeed: fifo(7).
  expect(() => openSync(fifo, constants.O_WRONLY | constants.O_NONBLOCK)).toThrow(/ENXIO/);
});

test('a record of another namespace with the names of built-in object properties fails no pass', async () => {
  await world.authority();
  const targets = [{ configMap: { name: 'mesh-ca', namespaceSelector: {} } }];
  await world.ask('TrustBundle', 'mesh', { sources: [{ authority: 'prod/mesh' }], targets });
  world.operate();
  const target = { namespace: 'evil', name: 'mesh-ca' };
  const hasBundle = async (): Promise<true | undefined> =>
    (await world.kube.get(configMaps, target))?.data?.['ca.crt']?.includes('BEGIN CERTIFICATE') || undefined;
  await world.until(hasBundle, 'the bundle');
  const { metadata } = (await world.kube.get(configMaps, target)) ?? {};
  const record = JSON.parse(metadata?.annotations?.['handover.dev/record'] ?? '');
  record.parts['ca.crt'].record.outputs = { print: 'x', files: ['constructor', '__proto__', 'toString'] };
  const forged = {
    metadata: { annotations: { 'handover.dev/record': JSON.stringify(record) } },
    data: { 'ca.crt': 'x' },
  };
  await world.kube.patch(configMaps, target, { merge: forged, fieldManager: 'evil' });
  await world.until(hasBundle, 'the bundle again');
  expect(world.failures).toEqual([]);
});
