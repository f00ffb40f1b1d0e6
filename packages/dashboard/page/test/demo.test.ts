import { type ChildProcess, spawn } from 'node:child_process';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { launch } from './chromium.ts';
import { firstPaint, longTasks, openPage, tooFaint, type WatchedPage } from './watched-page.ts';

const BIN = new URL('../../../cli/bin/handover.js', import.meta.url).pathname;

let browser: Browser;
let demo: ChildProcess;
let url: string;
let watched: WatchedPage;

beforeAll(async () => {
  browser = await launch();
  demo = spawn(process.execPath, [BIN, 'demo'], { stdio: ['ignore', 'pipe', 'inherit'] });
  url = await new Promise<string>((resolve, reject) => {
    let text = '';
    demo.stdout?.on('data', (more) => {
      text += more;
      const found = /dashboard: (\S+)/.exec(text)?.[1];
      if (found !== undefined) resolve(found);
    });
    demo.once('exit', () => reject(new Error(`the demo ended: ${text}`)));
  });
  watched = await openPage(browser, url);
});

afterAll(async () => {
  await browser?.close();
  if (demo.exitCode === null) {
    const ended = new Promise((resolve) => demo.once('exit', resolve));
    demo.kill('SIGINT');
    await ended;
  }
});

interface Moment {
  readonly phase: string;
  readonly now: readonly string[];
  readonly next: readonly string[];
  readonly step: string;
  readonly waiting: readonly string[];
}

test('a rotation is watched on the page from its beginning to its end', async () => {
  const { page } = watched;
  // Every state that is drawn, in order, until a second generation is all that is left.
  const moments = await page.evaluate(
    () =>
      new Promise<readonly Moment[]>((resolve) => {
        const seen: Moment[] = [];
        let last = '';
        const look = (): void => {
          const article = document.querySelector<HTMLElement>('[data-phase]');
          if (article === null) return;
          const cells = [...article.querySelectorAll<HTMLElement>('.cell')];
          const moment = {
            phase: article.dataset.phase ?? '',
            now: cells.map(({ dataset }) => dataset.now ?? ''),
            next: cells.map(({ dataset }) => dataset.next ?? ''),
            step: article.querySelector('.track [aria-current] .name')?.textContent ?? '',
            waiting: [...article.querySelectorAll<HTMLElement>('tr.waits')].map(
              ({ dataset }) => dataset.consumer ?? '',
            ),
          };
          const text = JSON.stringify(moment);
          if (text === last) return;
          last = text;
          seen.push(moment);
          const phases = new Set(seen.map(({ phase }) => phase));
          // On a busy machine a service may not have answered at the last look: then the rotation is not over.
          // What rests on time, such as a bundle that no service reads, is assumed.
          const rests =
            moment.phase === 'Stable' &&
            moment.now.every((verdict) => verdict === 'ok' || verdict === 'assumed');
          const over = rests && phases.has('Introducing') && phases.has('Activating');
          if (!over) return;
          observer.disconnect();
          resolve(seen);
        };
        const observer = new MutationObserver(look);
        observer.observe(document.body, {
          subtree: true,
          childList: true,
          attributes: true,
          characterData: true,
        });
        look();
      }),
  );
  const in_ = (phase: string): readonly Moment[] => moments.filter((moment) => moment.phase === phase);
  const order = moments.map(({ phase }) => phase).filter((phase, index, all) => phase !== all[index - 1]);
  const rotation = order.slice(order.indexOf('Introducing'));
  expect(rotation[0]).toBe('Introducing');
  expect(rotation).toContain('Activating');
  expect(rotation.at(-1)).toBe('Stable');

  // Amber while a consumer has not confirmed, and green square by square as evidence arrives.
  const amber = ({ now }: Moment): number => now.filter((verdict) => verdict === 'waits').length;
  for (const phase of ['Introducing', 'Activating']) {
    expect(Math.max(...in_(phase).map(amber))).toBeGreaterThan(0);
    expect(new Set(in_(phase).map(amber)).size).toBeGreaterThan(1);
  }
  expect(in_('Introducing').some(({ step }) => step === 'Introduce')).toBe(true);
  expect(in_('Activating').some(({ step }) => step === 'Activate')).toBe(true);
  // Retiring before every service has a new leaf would fail pairs; the page says so, and then no longer.
  expect(in_('Activating').some(({ next }) => next.includes('fails'))).toBe(true);
  expect(
    in_('Activating')
      .at(-1)
      ?.next.filter((verdict) => verdict === 'fails').length ?? 0,
  ).toBeLessThan(36);
  // A service that is slow on purpose is named.
  expect(in_('Activating').flatMap(({ waiting }) => waiting)).toContain('orders');
  // Nothing was ever refused, and in the end all is green.
  expect(moments.flatMap(({ now }) => now)).not.toContain('fails');
  expect(moments.at(-1)?.waiting).toEqual([]);
  expect(moments.at(-1)?.now).toContain('ok');
  expect(moments.at(-1)?.now).not.toContain('waits');
  expect(await page.textContent('[data-tally="failures"]')).toBe('0');
  expect(Number((await page.textContent('[data-tally="handshakes"]'))?.replace(/\D/g, ''))).toBeGreaterThan(
    50,
  );
  expect(await page.locator('.generations li.gone').count()).toBeGreaterThan(0);
  expect(await page.locator('.plot canvas').count()).toBe(1);
  const paint = await firstPaint(page);
  const tasks = await longTasks(page);
  console.log(
    `first paint ${Math.round(paint)} ms; long tasks over the rotation: ${tasks.length}, longest ${Math.round(Math.max(0, ...tasks))} ms`,
  );
});

test('nothing was said on the console, no policy was breached, and no request left the origin', () => {
  expect(watched.misdeeds).toEqual({ said: [], requests: [] });
});

test('no cookie is set, and the page works without any storage', async () => {
  expect(await watched.page.context().cookies()).toEqual([]);
  expect(await watched.page.evaluate(() => localStorage.length + sessionStorage.length)).toBe(0);
});

test('at 360 px nothing scrolls sideways', async () => {
  const { page } = await openPage(browser, url, { viewport: { width: 360, height: 740 } });
  await page.waitForSelector('.cell');
  expect(
    await page.evaluate(() => [document.documentElement.scrollWidth, document.body.scrollWidth]),
  ).toEqual([360, expect.any(Number)]);
  expect(await page.evaluate(() => document.body.scrollWidth)).toBeLessThanOrEqual(360);
  await page.context().close();
});

test.each(['light', 'dark'] as const)(
  'in %s every text stands out by 4.5 to 1, in rest and in a rotation',
  async (colorScheme) => {
    // Without motion: a square half a second on its way from green to amber is not one of the page's colours.
    const { page } = await openPage(browser, url, { colorScheme, reducedMotion: 'reduce' });
    for (const phase of ['Introducing', 'Activating', 'Stable']) {
      await page.waitForSelector(`[data-phase=${phase}]`, { timeout: 120_000 });
      expect(await tooFaint(page)).toEqual([]);
    }
    await page.context().close();
  },
);

test('the tab key reaches everything that can be used, in the order in which it is read', async () => {
  const { page } = await openPage(browser, url);
  await page.waitForSelector('.cell');
  const reached: string[] = [];
  for (let n = 0; n < 12; n++) {
    await page.keyboard.press('Tab');
    const at = await page.evaluate(() => {
      const { activeElement: element } = document;
      if (element === null || element === document.body) return '';
      const visible = getComputedStyle(element).outlineStyle !== 'none';
      return `${element.className || element.tagName.toLowerCase()} ${element.getAttribute('aria-labelledby') ?? ''}${visible ? '' : ' UNSEEN'}`.trim();
    });
    if (at === '') break;
    reached.push(at);
  }
  expect(reached).toEqual([
    'skip',
    'scroll consumers',
    'scroll trust',
    'cell',
    'input',
    expect.stringMatching(/^scroll( tall)? log$/),
  ]);
  // Inside the grid by arrows; what is there is read out below.
  await page.locator('.cell[tabindex="0"]').focus();
  await page.keyboard.press('ArrowRight');
  await page.keyboard.press('ArrowDown');
  expect(await page.evaluate(() => document.activeElement?.getAttribute('data-at'))).toBe('1,1');
  expect(await page.textContent('.told')).toContain(' to ');
  await page.context().close();
});

test('everything has a name for screen readers', async () => {
  const { page } = watched;
  const nameless = await page.evaluate(() =>
    [...document.querySelectorAll('button, a, input, [role=img], [role=region], meter, nav')]
      .filter((element) => {
        const label =
          element.getAttribute('aria-label') ??
          document.getElementById(element.getAttribute('aria-labelledby') ?? '')?.textContent;
        const text = label ?? (element as HTMLInputElement).labels?.[0]?.textContent ?? element.textContent;
        return (text ?? '').trim() === '';
      })
      .map(({ outerHTML }) => outerHTML.slice(0, 80)),
  );
  expect(nameless).toEqual([]);
  expect(
    await page.evaluate(() => [
      document.documentElement.lang,
      document.querySelectorAll('h1').length,
      document.querySelectorAll('main').length,
    ]),
  ).toEqual(['en', 1, 1]);
});
