import { createHash } from 'node:crypto';
import { homedir } from 'node:os';
import { join } from 'node:path';

/** Programs of this tier that were downloaded or built; outside the checkout. */
const root = (): string =>
  process.env.HANDOVER_FIELD_CACHE ||
  join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'handover', 'field');

/** The folder of a program, by everything that determines it: other pins, another folder. */
export const cacheFor = (program: string, ...pins: readonly string[]): string => {
  const hash = createHash('sha256').update(`${process.platform} ${process.arch}\n`);
  for (const pin of pins) hash.update(pin);
  return join(root(), `${program}-${hash.digest('hex').slice(0, 16)}`);
};
