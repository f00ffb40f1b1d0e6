import { plan } from '@handover/core';
import { type Home, type KeyRef, type Planner, reconcile, sealed } from '@handover/engine';
import { HandoverError } from '@handover/material';
import { expect, it } from 'vitest';
import type { FaultName } from './faults.ts';
import type { SimulationFailure } from './invariant.ts';
import { SIMULATED_AUTHORITY } from './resources.ts';
import { runSeed } from './simulate.ts';

/** Kind of the first failure that worlds with this home show. `from`: the first seed that showed one when the test was written. */
const failure = async (
  meddle: (home: Home) => Home,
  faults?: readonly FaultName[],
  from = 1,
): Promise<SimulationFailure['kind'] | undefined> => {
  for (let seed = from; seed < from + 400; seed++) {
    const { firstFailure } = await runSeed(seed, { strategy: 'phased', faults }, { meddle });
    if (firstFailure !== null) return firstFailure.kind;
  }
  return undefined;
};

/** Again, on whatever is there now. */
const insist = async (act: () => Promise<void>): Promise<void> => {
  for (;;) {
    try {
      return await act();
    } catch (error) {
      if (!(error instanceof HandoverError) || error.code !== 'CONFLICT') throw error;
    }
  }
};

const withObjects = (home: Home, write: Home['objects']['write']): Home => ({ ...home, objects: { write } });

const withAuthorities = (home: Home, swap: Home['authorities']['swap']): Home => ({
  ...home,
  authorities: { swap },
});

const LATE = ['two-controllers', 'late-writes', 'second-rotation', 'crash'] as const;

/** Worlds until one fails: slow on a machine that does other work as well. */
const PATIENCE = 240_000;

it(
  'the simulator sees through a home or an engine that lets a write land on another version than it was decided on',
  async () => {
    const meddle = (home: Home): Home =>
      withObjects(home, (id, _, make) =>
        insist(async () => {
          const { objects } = await home.fresh();
          await home.objects.write(id, (await objects.read(id))?.version, make);
        }),
      );
    expect(await failure(meddle, LATE, 15)).toBeDefined();
  },
  PATIENCE,
);

it(
  'the simulator sees through a home or an engine that lets a swap land on another revision than it was decided on',
  async () => {
    const meddle = (home: Home): Home =>
      withAuthorities(home, (id, _, record) =>
        insist(async () => {
          const { authorities } = await home.fresh();
          await home.authorities.swap(id, (await authorities.load(id))?.state.revision, record);
        }),
      );
    expect(await failure(meddle, LATE, 106)).toBeDefined();
  },
  PATIENCE,
);

it(
  'the simulator sees through a home or an engine that stores the authority after what is derived from it',
  async () => {
    const writesOnly: Planner = (seen, policy, now) => {
      const made = plan(seen, policy, now);
      return { ...made, actions: made.actions.filter((action) => 'object' in action) };
    };
    const meddle = (home: Home): Home =>
      withAuthorities(home, async (id, expected, record) => {
        const fresh = async () => ({ ...(await home.fresh()), authorities: { load: async () => record } });
        await reconcile({ ...home, fresh, cached: undefined }, id, writesOnly);
        await home.authorities.swap(id, expected, record);
      });
    expect(await failure(meddle)).toBeDefined();
  },
  PATIENCE,
);

it(
  'the simulator sees through a home or an engine that keeps the key of a generation that is gone',
  async () => {
    const meddle = (home: Home): Home => {
      const keys = new Map();
      return withAuthorities(home, (id, expected, record) => {
        for (const [number, key] of record.keys) keys.set(number, key);
        return home.authorities.swap(id, expected, { ...record, keys: new Map(keys) });
      });
    };
    expect(await failure(meddle)).toBe('key');
  },
  PATIENCE,
);

it(
  'the simulator sees through a home or an engine that keeps the key of a CA that stays trusted for another namespace',
  async () => {
    const meddle = (home: Home): Home => {
      const keys: Map<number, KeyRef> = new Map();
      return withAuthorities(home, (id, expected, record) => {
        for (const [number, key] of record.keys) keys.set(number, key);
        const kept = record.state.generations.flatMap(({ number, role }) => {
          const key = role === 'retained' ? keys.get(number) : undefined;
          return key === undefined ? [] : [[number, key] as const];
        });
        return home.authorities.swap(id, expected, { ...record, keys: new Map([...record.keys, ...kept]) });
      });
    };
    expect(await failure(meddle, [], 20)).toBe('key');
  },
  PATIENCE,
);

it(
  'the simulator sees through a home or an engine that loses the key of a generation that is there',
  async () => {
    const meddle = (home: Home): Home =>
      withAuthorities(home, (id, expected, record) =>
        home.authorities.swap(id, expected, { ...record, keys: new Map([...record.keys].slice(0, 1)) }),
      );
    expect(await failure(meddle)).toBe('key');
  },
  PATIENCE,
);

it(
  'the simulator sees through a home or an engine that counts how long a bundle has held a CA past its removal in between',
  async () => {
    const meddle = (home: Home): Home =>
      withObjects(home, async (id, expected, make) => {
        const { objects, authorities } = await home.fresh();
        const before = (await objects.read(id))?.record?.anchors ?? [];
        const { sealKey } = (await authorities.load(SIMULATED_AUTHORITY)) ?? {};
        return home.objects.write(id, expected, (at) => {
          const { data, record } = make(at);
          const anchors = record.anchors.map(
            (anchor) => before.find(({ fingerprint }) => fingerprint === anchor.fingerprint) ?? anchor,
          );
          const counted = { ...record, anchors };
          const seal = sealKey === undefined ? undefined : sealed(id, counted, SIMULATED_AUTHORITY, sealKey);
          return { data, record: counted, seal };
        });
      });
    expect(await failure(meddle, ['edits'])).toBe('bundle');
  },
  PATIENCE,
);
