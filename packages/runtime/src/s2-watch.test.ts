// Against: node:https, undici, fetch, gRPC, @kubernetes/client-node and inCluster().
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { ADAPTERS, type Adapter, OVER_IN_CLUSTER } from '../test/adapters.ts';
import { MockCa } from '../test/mock-ca.ts';
import { Volume } from '../test/volume.ts';
import { eventually, ok, UNKNOWN_AUTHORITY, wordsOf } from '../test/world.ts';
import type { Watched } from './resolve-path.ts';

/** Five times the bound of the scenario: a swapped file is in use within 1 s. */
const WITHIN_MS = 5_000;

const EVENTS_MS = 100;

const watch = vi.hoisted(() => ({ mode: 'good' as 'good' | 'none' | 'deaf after the first swap' }));

// A handshake that fails would force a reload, and hide that no event came. The poll is a minute away.
vi.mock('./fresh-trust.ts', () => ({
  withFreshTrust: (source: { current(): unknown }, attempt: (material: unknown) => unknown) =>
    attempt(source.current()),
}));

vi.mock('./watch-directories.ts', async (original) => {
  const { DirectoryWatches } = await original<typeof import('./watch-directories.ts')>();
  class Mutant extends DirectoryWatches {
    constructor(changed: (kind: Watched) => void) {
      let since: number | undefined;
      super((kind) => {
        since ??= Date.now();
        // As a watch on the file itself: one swap causes several events, and then none comes any more.
        if (watch.mode !== 'deaf after the first swap' || Date.now() - since < 100) changed(kind); // EVENTS_MS
      });
    }

    override arm(wanted: Parameters<InstanceType<typeof DirectoryWatches>['arm']>[0]): boolean {
      return watch.mode === 'none' ? false : super.arm(wanted);
    }
  }
  return { DirectoryWatches: Mutant };
});

const [one, two, three] = [new MockCa('one'), new MockCa('two'), new MockCa('three')];
const ALL = [...ADAPTERS, OVER_IN_CLUSTER];
const ends: (() => unknown)[] = [];
afterAll(async () => {
  for (const end of ends) await end();
});

/** A client of a server that moves from CA to CA. The answer: how long after each swap of the file it was accepted. */
async function follows(adapter: Adapter, ...moves: readonly MockCa[]): Promise<readonly number[]> {
  const content = (ca: MockCa) => ({ 'ca.crt': ca.pem, token: 'token' });
  const volume = new Volume(content(one));
  const stop = new AbortController();
  const target = await adapter.serve(one);
  ends.push(async () => {
    stop.abort();
    await target.close();
    volume.remove();
  });
  const client = await adapter.open(volume.path('ca.crt'), { signal: stop.signal });
  await client.get(target);
  const took: number[] = [];
  for (const ca of moves) {
    target.use(ca.leaf());
    await eventually(async () => {
      target.cut();
      return UNKNOWN_AUTHORITY.test(await wordsOf(client.get(target)));
    });
    // Longer than the first swap's events last: then the deaf one hears nothing of the second.
    if (took.length > 0) await new Promise((tick) => setTimeout(tick, 2 * EVENTS_MS));
    const from = performance.now();
    volume.write(content(ca));
    while (!(await ok(client.get(target)))) {
      if (performance.now() - from > WITHIN_MS)
        throw new Error(`not within ${WITHIN_MS} ms after swap ${took.length + 1}`);
      await new Promise((tick) => setTimeout(tick, 5));
    }
    took.push(performance.now() - from);
  }
  return took;
}

describe('S2 by the directory watch alone', () => {
  test.each(ALL)(
    '1: over $name a server that moved is accepted as soon as the file is swapped',
    async (adapter) => {
      for (const took of await follows(adapter, two)) expect(took).toBeLessThan(WITHIN_MS);
    },
  );

  test.each(ALL)('2: over $name two swaps in a row are both seen', async (adapter) => {
    for (const took of await follows(adapter, two, three)) expect(took).toBeLessThan(WITHIN_MS);
  });
});

describe('The scenarios notice a runtime', () => {
  describe('that does not watch', () => {
    beforeAll(() => {
      watch.mode = 'none';
    });
    test.concurrent.for(ALL)('over $name', async (adapter, { expect }) => {
      await expect(follows(adapter, two)).rejects.toThrow('after swap 1');
    });
  });

  describe('that goes deaf after the first swap', () => {
    beforeAll(() => {
      watch.mode = 'deaf after the first swap';
    });
    test.concurrent.for(ALL)('over $name', async (adapter, { expect }) => {
      await expect(follows(adapter, two, three)).rejects.toThrow('after swap 2');
    });
  });
});
