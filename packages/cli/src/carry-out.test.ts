import { writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { DirectoryHome, passOnce, reconcile, standingOf } from '@handover/engine';
import { systemClock } from '@handover/runtime/clock';
import { temporaryFolder } from '@handover/test-api-server';
import { expect, onTestFinished, test, vi } from 'vitest';
import { handover } from '../test/capture.ts';

const ID = 'default/mesh';
const MESH = `
apiVersion: handover.dev/v1alpha1
kind: Authority
metadata: {name: mesh}
spec: {lifetime: 1y, rotation: {reloadWithin: 20s}}
`;

test('a rotation that begins during a pass is in the status and in the record, or in neither', async () => {
  for (let moment = 1, isOver = false; !isOver; moment++) {
    const path = temporaryFolder({ inMemory: true });
    writeFileSync(`${path}/mesh.yaml`, MESH);
    const [home, other] = [
      new DirectoryHome(path, { timers: systemClock }),
      new DirectoryHome(path, { timers: systemClock }),
    ];
    const lock = await home.lock();
    await passOnce(home, home.load(), () => {});
    await lock.release();
    await home.requests.ask({ authority: ID, rotate: 'r1' });
    const load = home.authorities.load.bind(home.authorities);
    let loads = 0;
    vi.spyOn(home.authorities, 'load').mockImplementation(async (id) => {
      if (++loads === moment) await reconcile(other, ID);
      return load(id);
    });
    const { status, observation } = await standingOf(home.fresh, ID);
    isOver = loads < moment;
    const begun = observation.record?.state.ids.includes('r1') === true;
    expect({ moment, phase: status.phase }).toEqual({ moment, phase: begun ? 'Introducing' : 'Stable' });
  }
});

test('rotate --wait beside a run asks a consumer at most every 5 s while nothing changes', async () => {
  let asked = 0;
  const server = createServer((_, response) => {
    asked++;
    response.end('{}');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  const path = temporaryFolder({ inMemory: true });
  const consumer = `{name: app, verifies: true, status: {url: "http://127.0.0.1:${port}/"}}`;
  writeFileSync(`${path}/mesh.yaml`, MESH.replace('spec: {', `spec: {consumers: [${consumer}], `));
  const rotate = ['rotate', ID, '--id', 'r1', '--home', `dir:${path}`];
  await handover(['run', path, '--once']);
  expect((await handover(rotate)).stdout).toContain('is Introducing');
  // As `handover run` holds it; nothing works here meanwhile.
  const lock = await new DirectoryHome(path, { timers: systemClock }).lock(true);
  asked = 0;
  const { code, stderr } = await handover([...rotate, '--wait', '--timeout', '4s']);
  await lock.release();
  expect({ code, stderr }).toEqual({
    code: 1,
    stderr: expect.stringContaining('took too long: Introducing'),
  });
  // The look it begins with, and the one that says why it gives up.
  expect(asked).toBeLessThanOrEqual(2);
});
