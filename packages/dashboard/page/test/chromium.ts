import { spawnSync } from 'node:child_process';
import { accessSync, constants } from 'node:fs';
import { join } from 'node:path';
import { type Browser, chromium } from 'playwright-core';

const NAMES = ['chromium', 'chromium-browser', 'google-chrome-stable', 'google-chrome'];

const found = (): string | undefined =>
  NAMES.flatMap((name) => (process.env.PATH ?? '').split(':').map((directory) => join(directory, name))).find(
    (path) => {
      try {
        accessSync(path, constants.X_OK);
        return true;
      } catch {
        return false;
      }
    },
  );

/** Before the first test: installs a browser if it may, else ends the run with one line. This tier never skips. */
export const setup = (): void => {
  if (found() !== undefined) return;
  if (process.getuid?.() === 0) {
    const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
    for (const args of [['update'], ['install', '-y', '--no-install-recommends', 'chromium']])
      spawnSync('apt-get', args, { env, stdio: ['ignore', 'ignore', 'inherit'] });
  }
  if (found() === undefined)
    throw new Error(
      'BROWSER_MISSING: chromium not found; run `apt-get install chromium` as root, and this again',
    );
};

/** The system's own Chromium. Root has no sandbox, and only our own page is opened. */
export const launch = (): Promise<Browser> => {
  const executablePath = found();
  if (executablePath === undefined) throw new Error('chromium is not installed');
  return chromium.launch({ executablePath, args: process.getuid?.() === 0 ? ['--no-sandbox'] : [] });
};
