import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { withRole } from '@handover/core';
import { day, hour, minute, parseCertificates } from '@handover/material';
import { describe, expect, test } from 'vitest';
import { Directories, visible } from '../../../test/directories.ts';
import { ID, Machine } from '../../../test/machine.ts';
import { type ControllerEvent, clockReport, confirmClock, runDirectory } from '../../index.ts';

const directories = new Directories();

const YEAR = 365 * day;

const begun = async (): Promise<Machine> => {
  const machine = new Machine(directories);
  await machine.run();
  machine.pass(hour);
  await machine.run();
  return machine;
};

test('a clock that leaps ahead by two days for one pass: every leaf stays valid, and the authority is Stable again', async () => {
  const machine = await begun();
  // Until the next renewal is one pass away.
  machine.pass(59 * day + 12 * hour);
  await machine.run();
  machine.ahead = 2 * day;
  await machine.run();
  expect(machine.refused()).toEqual([]);
  machine.ahead = 0;
  machine.pass(minute);
  await machine.run();
  expect(machine.refused()).toEqual([]);
  expect(await machine.status()).toMatchObject({ phase: 'Stable', ready: true, notReady: [] });
});

test('a clock that leaps ahead by five years for one pass: no key is destroyed, no CA generation made, and nothing is stuck', async () => {
  const machine = await begun();
  const before = await machine.state();
  machine.ahead = 5 * YEAR;
  await machine.run();
  expect((await machine.status()).ready).toBe(false);
  expect((await machine.status()).blockedBy).toMatchObject([{ consumer: 'the clock' }]);
  expect((await machine.state()).generations).toEqual(before.generations);
  machine.ahead = 0;
  machine.pass(minute);
  expect(await machine.run()).toBeUndefined();
  expect((await machine.home().authorities.load(ID))?.keys.size).toBe(1);
  expect(machine.refused()).toEqual([]);
  expect(await machine.status()).toMatchObject({ phase: 'Stable', ready: true, blockedBy: [] });
});

test.each([
  ['before the new CA signs', ['next', 'current']],
  ['while the old CA is still trusted', ['current', 'previous']],
])(
  'a clock that leaps ahead for one pass in the middle of a rotation, %s: the old CA is neither retired nor dropped from a bundle',
  async (_when, roles) => {
    const machine = await begun();
    await machine.home().requests.ask({ authority: ID, rotate: 'r' });
    const now = async () => (await machine.state()).generations.map(({ role }) => role);
    await machine.run();
    for (let step = 0; step < 8 && `${await now()}` !== `${roles}`; step++) {
      machine.pass(minute);
      await machine.run();
    }
    expect(await now()).toEqual(roles);
    machine.ahead = 5 * YEAR;
    // Long enough for each step of a rotation, and not for the clock to be believed.
    for (let step = 0; step < 9; step++) {
      await machine.run();
      machine.pass(minute);
    }
    expect(await now()).toEqual(roles);
    for (const bundle of visible(machine.path).bundles.values())
      expect(parseCertificates(bundle).certificates).toHaveLength(2);
    machine.ahead = 0;
    machine.pass(minute);
    await machine.run();
    expect(machine.refused()).toEqual([]);
  },
);

test('a clock that leaps ahead and is right is trusted after ten minutes, also by processes that run for one pass', async () => {
  const machine = await begun();
  machine.ahead = 5 * YEAR;
  await machine.run();
  machine.pass(9 * minute);
  await machine.run();
  expect((await machine.state()).lastGeneration).toBe(1);
  machine.pass(minute);
  await machine.run();
  expect((await machine.state()).lastGeneration).toBe(2);
});

test('a clock that leaps ahead and is right is trusted at once when a person confirms it, also by a running process', async () => {
  const machine = await begun();
  machine.ahead = 5 * YEAR;
  const running = machine.home();
  expect(running.clock.doubt?.()).toBeDefined();
  const home = machine.home();
  expect((await confirmClock(home, home.load())).doubt).toMatchObject({ since: machine.now + 5 * YEAR });
  expect(running.clock.doubt?.()).toBeUndefined();
  await machine.run();
  expect((await machine.state()).lastGeneration).toBe(2);
});

test('a clock that leaps ahead and is right because the machine was off for weeks: leaves are renewed at once, and the rest continues after ten minutes', async () => {
  const machine = await begun();
  machine.reboot(80 * day);
  await machine.run();
  expect(machine.refused()).toEqual([]);
  expect(machine.home().clock.doubt?.()).toBeDefined();
  machine.pass(10 * minute);
  await machine.run();
  expect(machine.home().clock.doubt?.()).toBeUndefined();
  expect(await machine.status()).toMatchObject({ phase: 'Stable', ready: true });
});

test('a clock that leaps ahead and is right is not doubted after a reboot of minutes', async () => {
  const machine = await begun();
  machine.reboot(20 * minute);
  expect(machine.home().clock.doubt?.()).toBeUndefined();
});

describe('a clock that is corrected during handover run', () => {
  const running = async (machine: Machine, until: (event: ControllerEvent) => boolean, begin: () => void) => {
    const home = machine.home();
    const lock = await home.lock();
    const stop = new AbortController();
    let rested = false;
    let ended = false;
    const on = (event: ControllerEvent): void => {
      if (event.kind === 'rested' && !rested) {
        rested = true;
        begin();
        return;
      }
      if (!rested || !until(event)) return;
      ended = true;
      stop.abort();
    };
    const run = runDirectory(home, on, stop.signal);
    await directories.clock.until(() => ended, 10_000);
    await directories.clock.during(run);
    await lock.release();
    return ended;
  };

  test('a clock that is corrected during handover run from years ahead: within seconds an error says that the clock is behind', async () => {
    const machine = new Machine(directories);
    machine.ahead = 2 * YEAR;
    const said = await running(
      machine,
      (event) => event.kind === 'failed' && (event.error as { code?: string }).code === 'CLOCK_BEHIND',
      () => {
        machine.ahead = 0;
      },
    );
    expect(said).toBe(true);
  });

  test('a clock that is corrected during handover run from months ahead: within seconds leaves and files are correct', async () => {
    const machine = await begun();
    machine.ahead = 60 * day;
    const done = await running(
      machine,
      (event) => event.kind === 'acted' && visible(machine.path).chains.has('secrets/a'),
      () => {
        machine.ahead = 0;
        rmSync(join(machine.path, 'out/default/secrets/a'), { recursive: true });
      },
    );
    expect(done).toBe(true);
    expect(machine.refused()).toEqual([]);
  });
});

describe('a clock that was five years ahead for so long that it was trusted', () => {
  /** Its CA was made in the future. */
  const trustedAhead = async (): Promise<Machine> => {
    const machine = await begun();
    machine.ahead = 5 * YEAR;
    for (let step = 0; step < 8; step++) {
      await machine.run();
      machine.pass(20 * minute);
    }
    expect(withRole(await machine.state(), 'current')?.number).toBe(2);
    machine.ahead = 0;
    machine.pass(minute);
    return machine;
  };

  test('a clock that was five years ahead for so long that it was trusted holds up a distrust, too, once it is right; the same command carries it out', async () => {
    const machine = await trustedAhead();
    await machine.home().requests.ask({ authority: ID, distrust: 2 });
    expect(await machine.run()).toBe('CLOCK_BEHIND');
    expect(withRole(await machine.state(), 'current')?.number).toBe(2);
    const home = machine.home();
    await confirmClock(home, home.load());
    expect(await machine.run()).toBeUndefined();
    expect(withRole(await machine.state(), 'current')?.number).toBe(3);
    const stolen = (await machine.state()).generations.find(({ number }) => number === 2);
    expect(stolen?.role ?? 'distrusted').toBe('distrusted');
    for (const bundle of visible(machine.path).bundles.values())
      expect(parseCertificates(bundle).certificates).toHaveLength(1);
    expect(machine.refused()).toEqual([]);
  });

  test('a clock that was five years ahead for so long that it was trusted is refused once it is right, and one command resolves it: a valid CA signs, leaves verify, nothing is stuck', async () => {
    const machine = await trustedAhead();
    expect(await machine.run()).toBe('CLOCK_BEHIND');
    const home = machine.home();
    expect((await clockReport(home, home.load())).ahead).toMatchObject([{ authority: ID }]);
    await confirmClock(home, home.load());
    expect((await clockReport(home, home.load())).ahead).toEqual([]);
    expect(await machine.run()).toBeUndefined();
    expect(machine.refused()).toEqual([]);
    expect((await machine.status()).ready).toBe(true);
    for (let step = 0; step < 6; step++) {
      machine.pass(20 * minute);
      await machine.run();
    }
    expect((await machine.state()).generations).toMatchObject([{ number: 3, role: 'current' }]);
    expect(machine.refused()).toEqual([]);
    expect(await machine.status()).toMatchObject({ phase: 'Stable', ready: true, blockedBy: [] });
  });
});
