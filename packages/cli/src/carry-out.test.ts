import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { DirectoryHome, passOnce, reconcile, standingOf } from '@handover/engine';
import { expect, onTestFinished, test, vi } from 'vitest';

const ID = 'default/mesh';
const MESH = `
apiVersion: handover.dev/v1alpha1
kind: Authority
metadata: {name: mesh}
spec: {lifetime: 1y, rotation: {reloadWithin: 20s}}
`;

test('a rotation that begins while its authority is looked at is in the status and in the record, or in neither', async () => {
  for (let moment = 1, isOver = false; !isOver; moment++) {
    const path = mkdtempSync(`${tmpdir()}/handover-standing-`);
    onTestFinished(() => rmSync(path, { recursive: true }));
    writeFileSync(`${path}/mesh.yaml`, MESH);
    const [home, other] = [new DirectoryHome(path), new DirectoryHome(path)];
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
