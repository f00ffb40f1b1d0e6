// Against: node:https, undici, fetch, gRPC, @kubernetes/client-node and inCluster().
import { instant } from '@handover/material';
import { atRest, TestClock } from '@handover/test-api-server';
import { beforeEach, describe, expect, test, vi } from 'vitest';
import { type Adapter, EVERY_CLIENT } from '../test/adapters.ts';
import { Scope } from '../test/fixture.ts';
import { MockCa } from '../test/mock-ca.ts';
import { eventually, ok, UNKNOWN_AUTHORITY, wordsOf } from '../test/world.ts';
import type { Watched } from './files/resolve-path.ts';

/** Five times the bound of the scenario: a swapped file is in use within 1 s. */
const WITHIN_MS = 5_000;

const watch = vi.hoisted(() => ({ mode: 'good' as 'good' | 'none' | 'deaf' }));

// A handshake that fails would force a reload, and hide that no event came. The poll is a minute away.
vi.mock('./clients/fresh-trust.ts', () => ({
  withFreshTrust: (source: { current(): unknown }, attempt: (material: unknown) => unknown) =>
    attempt(source.current()),
}));

vi.mock('./files/watch-directories.ts', async (original) => {
  const { DirectoryWatches } = await original<typeof import('./files/watch-directories.ts')>();
  class Mutant extends DirectoryWatches {
    constructor(changed: (kind: Watched) => void) {
      super((kind) => {
        if (watch.mode !== 'deaf') changed(kind);
      });
    }

    override arm(wanted: Parameters<InstanceType<typeof DirectoryWatches>['arm']>[0]): boolean {
      return watch.mode === 'none' ? false : super.arm(wanted);
    }
  }
  return { DirectoryWatches: Mutant };
});

const [one, two, three] = [new MockCa('one'), new MockCa('two'), new MockCa('three')];
let clock: TestClock;
let scope: Scope;
beforeEach(() => {
  watch.mode = 'good';
  clock = new TestClock(instant(Date.now()));
  scope = new Scope(clock);
});

/** A client of a server that moves from CA to CA. After each swap of the file it is accepted within the bound, or this fails. */
async function follows(adapter: Adapter, moves: readonly MockCa[], swapped?: () => void): Promise<void> {
  const content = (ca: MockCa) => ({ 'ca.crt': ca.pem, token: 'token' });
  const volume = scope.volume(content(one));
  const target = scope.add(await adapter.serve(one));
  const client = await adapter.open(volume.path('ca.crt'), scope.follow);
  // Over a connection of its own: one that has failed may wait by the real clock before it connects again.
  const get = () => (client.getAnew ?? client.get)(target);
  await get();
  for (const [index, ca] of moves.entries()) {
    target.use(ca.leaf());
    await eventually(async () => {
      target.cut();
      return UNKNOWN_AUTHORITY.test(await wordsOf(get()));
    });
    const end = clock.monotonic() + WITHIN_MS;
    volume.write(content(ca));
    await atRest();
    while (!(await ok(get()))) {
      if (clock.monotonic() >= end) throw new Error(`not within ${WITHIN_MS} ms after swap ${index + 1}`);
      await clock.advance(1_000);
    }
    swapped?.();
  }
}

describe('S2 by the directory watch alone', () => {
  test.each(EVERY_CLIENT)(
    '1: over $name a server that moved is accepted as soon as the file is swapped',
    (adapter) => follows(adapter, [two]),
  );

  test.each(EVERY_CLIENT)('2: over $name two swaps in a row are both seen', (adapter) =>
    follows(adapter, [two, three]),
  );
});

test.each(EVERY_CLIENT)(
  'the scenarios fail with a runtime that does not watch, over $name',
  async (adapter) => {
    watch.mode = 'none';
    await expect(follows(adapter, [two])).rejects.toThrow('after swap 1');
  },
);

test.each(EVERY_CLIENT)(
  'the scenarios fail with a runtime that stops watching after the first swap, over $name',
  async (adapter) => {
    const deafen = (): void => {
      watch.mode = 'deaf';
    };
    await expect(follows(adapter, [two, three], deafen)).rejects.toThrow('after swap 2');
  },
);
