import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from './image.ts';

const DOCUMENT = join(ROOT, 'docs/install.md');
const IMAGE = /registry\.example\/handover:[\d.]+/;

/** The arguments of a command in docs/install.md, for this image and this clone; `start` is the start of its line. */
export const documented = (start: string, image = ''): readonly string[] => {
  const lines = readFileSync(DOCUMENT, 'utf8').split('\n');
  const line = lines.find((one) => one.startsWith(`${start} `));
  if (line === undefined) throw new Error(`docs/install.md no longer says ${start}`);
  const [, ...args] = line.split(' ');
  return args.map((arg) =>
    arg.startsWith('deploy/') ? join(ROOT, arg) : arg.replace(IMAGE, image || 'of no version'),
  );
};
