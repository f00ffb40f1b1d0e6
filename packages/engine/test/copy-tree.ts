import { chmodSync, cpSync, lstatSync, readdirSync } from 'node:fs';
import { join } from 'node:path';

/** A file, or a folder with its contents and modes: `cpSync` of Node 24 gives the folders in it the default mode. */
export const copyTree = (from: string, to: string): void => {
  cpSync(from, to, { recursive: true, verbatimSymlinks: true });
  if (!lstatSync(from).isDirectory()) return;
  for (const name of ['', ...(readdirSync(from, { recursive: true }) as string[])]) {
    const stat = lstatSync(join(from, name));
    if (stat.isDirectory()) chmodSync(join(to, name), stat.mode & 0o7777);
  }
};
