// Against: every client of Handover, each as a process of its own, over real files and sockets.
import { fileURLToPath } from 'node:url';
import { describe, it } from 'vitest';
import { cases } from './src/case.ts';
import { play } from './src/play.ts';

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url));

const DRIVERS = {
  Node: () => [process.execPath, here('drivers/node.mjs')],
} as const;

describe.each(Object.entries(DRIVERS))('%s', (_, command) => {
  it.concurrent.for(cases.map((one) => [one.name, one] as const))('%s', ([, one]) => play(one, command()));
});
