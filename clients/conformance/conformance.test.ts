// Against: every client of Handover, each as a process of its own, over real files and sockets.
import { beforeAll, describe, it } from 'vitest';
import { DRIVERS } from './src/build.ts';
import { cases } from './src/case.ts';
import { play } from './src/play.ts';

describe.each(Object.entries(DRIVERS))('%s', (_, build) => {
  let command: readonly string[] = [];
  beforeAll(async () => {
    command = await build();
  });

  it.concurrent.for(cases.map((one) => [one.name, one] as const))('%s', ([, one]) => play(one, command));
});
