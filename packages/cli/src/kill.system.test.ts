import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DirectoryHome } from '@handover/engine';
import { instant, parseCertificates, verifyChain } from '@handover/material';
import { systemClock } from '@handover/runtime/clock';
import { PROGRAM, RANDOM_INPUTS, temporaryFolder } from '@handover/test-api-server';
import { beforeAll, beforeEach, expect, test } from 'vitest';
import { build } from '../test/real-process.ts';
import { STARTING_POINT } from './commands/init.ts';

beforeAll(build, 120_000);

let dir: string;
beforeEach(() => {
  dir = temporaryFolder({ inMemory: true });
  writeFileSync(join(dir, 'handover.yaml'), STARTING_POINT.replace('reloadWithin: 3m', 'reloadWithin: 0s'));
});

const read = (file: string) => {
  const full = join(dir, 'out/default', file);
  return existsSync(full) ? parseCertificates(readFileSync(full)).certificates : undefined;
};
const isAccepted = (): boolean => {
  const chain = read('secrets/web/tls.crt');
  return ['secrets/web/ca.crt', 'configmaps/internal-trust/ca.crt'].every((bundle) => {
    const anchors = read(bundle);
    if (chain === undefined || anchors === undefined) return true;
    return verifyChain({ chain, anchors, at: instant(Date.now()), purpose: 'server' }).ok;
  });
};

test(
  'run continues where it was after any number of kills: nothing is rotated twice, every pair verifies',
  RANDOM_INPUTS,
  async () => {
    const home = new DirectoryHome(dir, { timers: systemClock });
    const ROUNDS = 5;
    let seed = 7;
    for (let round = 1; round <= ROUNDS; round++) {
      const child = spawn(process.execPath, [PROGRAM, 'run', dir], { stdio: ['ignore', 'pipe', 'pipe'] });
      await once(child.stdout, 'data');
      await home.requests.ask({ authority: 'default/internal', rotate: `r${round}` });
      seed = (seed * 1_103_515_245 + 12_345) % 2 ** 31;
      await new Promise((resolve) => setTimeout(resolve, seed % 90));
      child.kill('SIGKILL');
      await once(child, 'close');
      expect(isAccepted()).toBe(true);
    }
    for (let pass = 0; pass < 2; pass++)
      expect(spawnSync(process.execPath, [PROGRAM, 'run', dir, '--once']).status).toBe(0);
    const state = (await home.authorities.load('default/internal'))?.state;
    expect([...(state?.ids ?? [])].sort()).toEqual(
      Array.from({ length: ROUNDS }, (_, index) => `r${index + 1}`),
    );
    expect(state?.lastGeneration).toBe(ROUNDS + 1);
    expect(state?.generations).toMatchObject([{ number: ROUNDS + 1, role: 'current' }]);
    expect(read('secrets/web/ca.crt')).toEqual(read('configmaps/internal-trust/ca.crt'));
    expect(read('secrets/web/ca.crt')).toHaveLength(1);
    expect(isAccepted()).toBe(true);
  },
);

test('of two runs on one directory the second is refused, and the message names the first', async () => {
  const child = spawn(process.execPath, [PROGRAM, 'run', dir], { stdio: ['ignore', 'pipe', 'pipe'] });
  await once(child.stdout, 'data');
  const second = spawnSync(process.execPath, [PROGRAM, 'run', dir], { encoding: 'utf8' });
  expect(second).toMatchObject({
    status: 1,
    stderr: `HOME_LOCKED: process ${child.pid} is already running on this directory; stop it first, or let it do the work\n`,
  });
  child.kill('SIGTERM');
  const [code] = await once(child, 'close');
  expect(code).toBe(0);
  expect(existsSync(join(dir, 'state/lock'))).toBe(false);
});
