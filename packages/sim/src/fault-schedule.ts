import type { Transition } from '@handover/core';
import { pemFile } from '@handover/engine';
import { day, minute, second } from '@handover/material';
import { SimulatedController } from './controller.ts';
import type { FaultName } from './faults.ts';
import { ELSEWHERE, PLANTED, SIMULATED_AUTHORITY } from './resources.ts';
import type { World } from './world.ts';

/** Plans the events of this world: its rotation, and everything that goes wrong meanwhile. */
export const scheduleFaults = (world: World): void => {
  const { random, setup, store } = world;
  const { faults, window } = setup;
  const at = (share: number, act: () => void): void => world.later(share * window, act);
  /** Some time between two shares of the window. */
  const during = (from: number, to: number, act: () => void): void => at(random.between(from, to), act);
  const often = (name: FaultName, most: number, act: () => void): void => {
    if (!faults.has(name)) return;
    for (let left = random.whole(1, most); left > 0; left--) during(0.02, 0.95, act);
  };
  const ask = (id: string): void => {
    store.ask({ rotate: id });
    world.log(() => `rotation ${id} is requested`);
    world.notify();
  };

  if (!faults.has('schedule') && !(faults.has('adoption') && random.chance(0.7)))
    during(0, 0.1, () => ask('first'));
  if (faults.has('second-rotation') || !setup.policy.consumersFound) {
    during(0.1, 0.8, () => ask('second'));
  }
  if (faults.has('distrust')) during(0.05, 0.8, () => distrustOne(world));
  for (const _ of setup.newcomers) during(0.02, 0.9, () => world.welcomeNext());
  often('evictions', 4, () => evictOne(world));
  often('conflicts', 6, () => {
    const [first, ...rest] = store.objects.keys();
    if (first !== undefined) store.touch(random.pick([first, ...rest]));
  });
  often('home-away', 2, () => {
    if (store.away || !world.stormy) return;
    store.away = true;
    world.happened('home-away');
    world.log(() => 'the home is away');
    world.later(random.between(10 * second, 4 * minute), () => {
      store.away = false;
      world.log(() => 'the home is back');
    });
  });
  often('clock-jumps', 3, () => jumpClock(world));
  often('clock-leaps', 2, () => leapAhead(world));
  if (faults.has('neighbour')) during(0, 0.2, () => beHostile(world));
  often('controller-clock-jumps', 3, () => {
    world.happened('controller-clock-jumps');
    for (const controller of world.controllers) controller.jump();
  });
  often('crash', 2, () => {
    if (world.stormy) world.controllers[0]?.crash();
  });
  if (faults.has('two-controllers')) {
    during(0, 0.5, () => {
      const second = new SimulatedController('two', world);
      world.controllers.push(second);
      second.start();
      world.happened('two-controllers');
      world.log(() => 'a second controller starts');
      world.later(random.between(0.2, 0.5) * window, () => {
        second.stop();
        world.log(() => 'the second controller is gone');
      });
    });
  }
};

/** The worst moment for a fault is while consumers load a step. */
export const worstMoment = (world: World, step: Transition['kind']): void => {
  const { random, setup } = world;
  if (!world.stormy) return;
  const soon = (name: FaultName, chance: number, within: number, act: () => void): void => {
    if (setup.faults.has(name) && random.chance(chance)) world.later(random.between(0, within), act);
  };
  soon('clock-jumps', 0.5, random.chance(0.5) ? 5 * second : minute, () => jumpClock(world));
  soon('distrust', 0.3, minute, () => distrustOne(world));
  soon('evictions', 0.4, 15 * second, () => evictOne(world));
  // Above all for a newcomer: right after the CA is gone from which an old cache would still issue.
  soon('newcomers', step === 'retire' ? 0.8 : 0.15, 30 * second, () => world.welcomeNext());
  soon('edits', 0.5, 2 * minute, () => editOne(world));
};

/**
 * Another program restores an older copy of a bundle: the new CA is gone from it, and the record still says that it is there.
 */
const editOne = (world: World): void => {
  const { store, random } = world;
  const next = store.state?.generations.find((item) => item.role === 'next')?.anchors[0].fingerprint;
  if (!world.stormy || next === undefined) return;
  const [first, ...rest] = [...store.managed].filter((id) => store.latest(id)?.anchors.includes(next));
  if (first === undefined) return;
  const id = random.pick([first, ...rest]);
  const kept = store.latest(id)?.anchors.filter((item) => item !== next) ?? [];
  const bundle = pemFile(kept.map((item) => world.certificates.of(item)));
  world.happened('edits');
  world.log(() => `another program removes the new CA from ${id}`);
  store.overwrite(id, { ...store.object(id)?.data, 'ca.crt': bundle });
};

const evictOne = (world: World): void => {
  const [first, ...rest] = world.consumers.values();
  if (first === undefined) return;
  world.happened('evictions');
  world.random.pick([first, ...rest]).replaceOne();
};

/** Distrusts a generation of any role. */
const distrustOne = (world: World): void => {
  const { store, random } = world;
  const [first, ...rest] = store.state?.generations.filter((item) => item.role !== 'distrusted') ?? [];
  if (first === undefined || world.distrusted) return;
  world.distrusted = true;
  const { number } = random.pick([first, ...rest]);
  store.ask({ distrust: number });
  world.log(() => `the distrust of CA generation ${number} is requested`);
  world.notify();
};

/** The home's clock jumps, and controllers notice within seconds. */
const jumpClock = (world: World): void => {
  const { store, random } = world;
  // A jump ahead and back between two looks of a controller would leave no trace.
  if (!world.stormy || world.time() < world.lastJump + 30 * second) return;
  world.lastJump = world.time();
  // At most half an hour from the true time: certificates begin an hour back, and no more is promised.
  store.offset = Math.round(random.between(-30 * minute, 30 * minute));
  world.happened('clock-jumps');
  world.log(() => `the home's clock jumps to ${Math.round(store.offset / 1000)} s off`);
  world.later(random.between(0, 5 * second), () => {
    for (const controller of world.controllers) controller.checkClock();
  });
  // A pod that starts right after it is dated by the new time, and reads the old files.
  if (world.setup.faults.has('evictions')) world.later(random.between(0, 10 * second), () => evictOne(world));
};

/** The home's clock is far ahead for a while, and then right again. */
const leapAhead = (world: World): void => {
  const { store, random } = world;
  if (!world.stormy || store.leap > 0) return;
  const noticed = (): void => {
    for (const controller of world.controllers) controller.checkClock();
  };
  store.leap = Math.round(random.between(1, random.chance(0.5) ? 4 : 2_000) * day);
  world.happened('clock-leaps');
  world.log(() => `the home's clock jumps ahead by ${Math.round(store.leap / day)} days`);
  noticed();
  world.notify();
  // Less than it takes to be trusted.
  world.later(random.between(5 * second, 8 * minute), () => {
    store.leap = 0;
    world.log(() => 'the home’s clock is right again');
    // A plan from before is out of date.
    world.consumersChanged();
    noticed();
    world.notify();
  });
};

/**
 * The owner of another namespace plants a Secret with a forged record, and again and again removes or forges the record of the bundle
 * there, without a seal.
 */
const beHostile = (world: World): void => {
  const { store, random, setup } = world;
  const forged = {
    digest: '',
    revisions: { [SIMULATED_AUTHORITY]: 1_000_000 },
    anchors: [],
    changedAt: store.now,
    issuedBy: SIMULATED_AUTHORITY,
  };
  store.forge(PLANTED, {}, forged);
  world.happened('neighbour');
  const meddle = (): void => {
    const object = store.object(ELSEWHERE);
    if (!world.stormy) return;
    if (object !== undefined)
      store.forge(ELSEWHERE, object.data, random.chance(0.5) ? undefined : { ...forged, digest: 'made up' });
    world.notify();
    world.later(random.between(second, setup.policy.reloadWithin / 3), meddle);
  };
  meddle();
};
