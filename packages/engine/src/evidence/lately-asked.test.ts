import { readFileSync, writeFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { createServer } from 'node:tls';
import { expect, onTestFinished, test } from 'vitest';
import { MESH_ID, MeshHomes, meshYaml, pairOf, pass } from '../../test/mesh-home.ts';
import type { DirectoryHome } from '../index.ts';

const homes = new MeshHomes();

/** A rotation that waits for a server with the old leaf, and what its owner writes then. */
const waiting = async (edit: (yaml: string) => string) => {
  const server = createServer();
  onTestFinished(() => void server.close());
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const { port } = server.address() as AddressInfo;
  const path = homes.make(
    meshYaml(`{name: web, presents: true, leaf: a, probe: {address: "127.0.0.1:${port}"}}`),
  );
  const home = homes.home(path);
  await pass(home);
  server.setSecureContext(pairOf(home, 'a'));
  await pass(home);
  await home.requests.ask({ authority: MESH_ID, rotate: 'r' });
  for (let looks = 0; looks < 6; looks++) {
    await pass(home);
    homes.later(100_000);
  }
  const { plan, observation } = await pass(home);
  expect(plan.phase).toBe('Activating');
  // As `handover run` does after each pass.
  await home.seenConsumers.save(MESH_ID, observation.seen.consumers);
  const file = join(path, 'mesh.yaml');
  writeFileSync(file, edit(readFileSync(file, 'utf8')));
  return { home, again: () => homes.home(path) };
};
const WITHOUT = /\{name: web, [^}]*\}\}/;
const waits = async (home: DirectoryHome): Promise<string> => {
  const { plan } = await pass(home);
  return `${plan.phase}: ${plan.blockedBy.map(({ consumer }) => consumer).join()}`;
};

test.each([
  ['the consumer', (yaml: string) => yaml.replace(WITHOUT, '')],
  ['its probe', (yaml: string) => yaml.replace(WITHOUT, '{name: web, presents: true, leaf: a}')],
])(
  'taking %s out of the resources while a rotation waits for it does not retire the CA that it was seen to use, also after a restart',
  async (_, edit) => {
    const { home, again } = await waiting(edit);
    expect(await waits(home)).toBe('Activating: web (asked until lately)');
    expect(await waits(again())).toMatch(/^Activating: .*web \(asked until lately\)/);
    // As a program that shows nothing, it has reloadWithin.
    homes.later(200_000);
    expect(await waits(home)).not.toContain('asked until lately');
  },
);
