import { expect, it } from 'vitest';
import { credulous, shows } from '../test/sabotage.ts';
import { STRATEGIES } from './strategies.ts';

it('without seals, the border of the planner keeps what another namespace claims from stopping an Authority, in 200 worlds', async () => {
  const worlds = { faults: ['neighbour'], meddle: credulous } as const;
  expect(await shows(STRATEGIES.phased, 'liveness', worlds)).toBe(false);
});
