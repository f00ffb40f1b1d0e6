import { type AddressInfo, createServer, type Socket } from 'node:net';
import { type Kube, type KubeObject, pods, services } from '@handover/kube';
import { onTestFinished } from 'vitest';

/** Fifty consumers at a port of namespace evil that takes connections and never says a word. It closes with the test. */
export const silentConsumers = async (kube: Kube): Promise<readonly object[]> => {
  const sockets = new Set<Socket>();
  const silent = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => {});
  });
  await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    silent.close();
  });
  const { port } = silent.address() as AddressInfo;
  await kube.create(services, {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { namespace: 'evil', name: 'silent' },
    spec: { selector: { app: 'silent' }, ports: [{ port: 443, targetPort: port }] },
  } as KubeObject);
  await kube.create(pods, {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { namespace: 'evil', name: 'silent', labels: { app: 'silent' } },
    spec: { containers: [{ name: 'main' }] },
    status: { phase: 'Running', podIP: '127.0.0.1' },
  } as KubeObject);
  return Array.from({ length: 50 }, (_, index) => ({
    name: `c${index}`,
    verifies: true,
    probe: { address: 'silent:443', mtls: true },
  }));
};
