import { execFileSync, spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { temporaryFolder } from '@handover/test-api-server';
import { expect, test } from 'vitest';
import { launch } from '../../packages/dashboard/page/test/chromium.ts';
import { openPage } from '../../packages/dashboard/page/test/watched-page.ts';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const MOST_SECONDS = 180;

/** The first line of the first block of commands: what a newcomer copies. */
const firstCommand = (readme: string): string => /^```sh\n(.+)$/m.exec(readme)?.[1] ?? '';

/** Follows the page until a rotation has ended: all pairs verify, shown or assumed, the old CA gone, no refused handshake. */
const shown = (): string | undefined => {
  const article = document.querySelector<HTMLElement>('[data-phase]');
  const cells = [...(article?.querySelectorAll<HTMLElement>('.cell') ?? [])];
  const tally = (name: string): string => document.querySelector(`[data-tally=${name}]`)?.textContent ?? '';
  const over =
    article?.dataset.phase === 'Stable' &&
    cells.length > 0 &&
    cells.every(({ dataset }) => dataset.now === 'ok' || dataset.now === 'assumed') &&
    document.querySelector('.generations li.gone') !== null;
  return over ? `${tally('handshakes')} handshakes, ${tally('failures')} failed` : undefined;
};

test('the first command of the README leads from a clone to a page with a finished rotation and no failure', async () => {
  const folder = temporaryFolder();
  const clone = join(folder, 'handover');
  execFileSync('git', ['clone', '--quiet', '--no-hardlinks', `file://${ROOT}`, clone]);
  const command = firstCommand(readFileSync(join(clone, 'README.md'), 'utf8'));
  expect(command).toContain('handover demo');
  const browser = await launch();
  const began = performance.now();
  const seconds = (): number => Math.round((performance.now() - began) / 100) / 10;
  // A newcomer's shell: without a test runner's variables, and without anything from an earlier install.
  const given = Object.entries(process.env).filter(
    ([name]) => !/^(npm_(?!config_)|VITEST|NODE_ENV$)/.test(name),
  );
  const env = { ...Object.fromEntries(given), npm_config_cache: join(folder, 'cache') };
  const shell = spawn('sh', ['-c', command], {
    cwd: clone,
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
    detached: true, // a group of its own, which can be ended whole
  });
  let said = '';
  const ended = new Promise<number | null>((resolve) => shell.once('exit', resolve));
  try {
    const url = await new Promise<string>((resolve, reject) => {
      shell.stdout.setEncoding('utf8').on('data', (more: string) => {
        said += more;
        const found = /dashboard: (\S+)/.exec(said)?.[1];
        if (found !== undefined) resolve(found);
      });
      ended.then((code) =>
        reject(
          new Error(`the command ended with ${code} before it printed the address of the page:\n${said}`),
        ),
      );
    });
    const atUrl = seconds();
    const { page, misdeeds } = await openPage(browser, url);
    const tallies = await page.waitForFunction(shown, undefined, { timeout: 300_000 });
    const atEnd = seconds();
    const text = await tallies.jsonValue();
    console.log(`${command}\npage after ${atUrl} s, a finished rotation on it after ${atEnd} s: ${text}`);
    expect(text).toMatch(/^\d.* handshakes, 0 failed$/);
    expect(misdeeds).toEqual({ said: [], requests: [] });
    expect(atEnd).toBeLessThan(MOST_SECONDS);
    await page.close();
    expect(await ended).toBe(0);
    console.log(`it ended by itself after ${seconds()} s: ${said.trim().split('\n').at(-1)}`);
  } finally {
    await browser.close();
    if (shell.exitCode === null && shell.pid !== undefined) process.kill(-shell.pid, 'SIGKILL');
  }
});
