// Writes docs/images/dashboard-*.png: the demo in the middle of a rotation. Needs a build and Chromium; looks best with the
// fonts Inter and P052 installed (Debian: fonts-inter, fonts-urw-base35), and is smaller with pngquant.
// node packages/dashboard/page/screenshots.mjs
import { spawn, spawnSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { chromium } from 'playwright-core';

const BIN = new URL('../../cli/bin/handover.js', import.meta.url).pathname;
const images = new URL('../../../docs/images/', import.meta.url).pathname;
mkdirSync(images, { recursive: true });

const demo = spawn(process.execPath, [BIN, 'demo'], { stdio: ['ignore', 'pipe', 'inherit'] });
const url = await new Promise((resolve, reject) => {
  let text = '';
  demo.stdout.on('data', (more) => {
    text += more;
    const found = /dashboard: (\S+)/.exec(text)?.[1];
    if (found !== undefined) resolve(found);
  });
  demo.once('exit', () => reject(new Error(`the demo ended: ${text}`)));
});
const executablePath = process.env.CHROMIUM ?? '/usr/bin/chromium';
const browser = await chromium.launch({
  executablePath,
  args: process.getuid?.() === 0 ? ['--no-sandbox'] : [],
});

const picture = async (name, options, phase, clip) => {
  const context = await browser.newContext(options);
  const page = await context.newPage();
  await page.goto(url);
  // Some have shown it, some have not: the moment that says most.
  await page.waitForFunction(
    (wanted) =>
      document.querySelector(`[data-phase=${wanted}]`) !== null &&
      document.querySelectorAll('tr.waits').length > 0 &&
      document.querySelectorAll('tr.shown').length > 1 &&
      document.querySelectorAll('.generations .lanes li').length > 2,
    phase,
    { timeout: 240_000, polling: 50 },
  );
  await page.evaluate(() => document.fonts.ready);
  await page.screenshot({
    path: `${images}${name}.png`,
    animations: 'disabled',
    ...(clip === undefined ? { fullPage: true } : { clip }),
  });
  await context.close();
  // A third of the size; without it they are merely larger.
  spawnSync('pngquant', ['--force', '--ext', '.png', '--strip', `${images}${name}.png`]);
};

try {
  const wide = { viewport: { width: 1200, height: 1000 } };
  await picture('dashboard-light', { ...wide, colorScheme: 'light' }, 'Activating');
  await picture('dashboard-dark', { ...wide, colorScheme: 'dark' }, 'Activating');
  const narrow = { width: 360, height: 1180 };
  await picture('dashboard-360', { viewport: narrow, colorScheme: 'light' }, 'Activating', {
    x: 0,
    y: 0,
    ...narrow,
  });
} finally {
  await browser.close();
  demo.kill('SIGINT');
}
