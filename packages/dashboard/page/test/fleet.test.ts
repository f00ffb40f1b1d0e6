import type { HookStatus } from '@handover/engine';
import { bytesOf } from '@handover/material';
import { systemClock } from '@handover/runtime/clock';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Dashboard, serveDashboard } from '../../src/index.ts';
import { AUTHORITY, Fleet } from '../../test/fleet.ts';
import { launch } from './chromium.ts';
import { firstPaint, longTasks, openPage } from './watched-page.ts';

let browser: Browser;
beforeAll(async () => {
  browser = await launch();
});
afterAll(() => browser?.close());

const serve = async (fleet: Fleet, port = 0): Promise<Dashboard> =>
  serveDashboard({ board: fleet.board, clock: systemClock, port });

const begun = async (size: number): Promise<Fleet> => {
  const fleet = new Fleet(size);
  await fleet.settle();
  await fleet.load();
  await fleet.settle();
  return fleet;
};

test('a thousand consumers: evidence arrives by and by, the list is scrolled and searched, and the page keeps up', async () => {
  const fleet = await begun(1_000);
  const dashboard = await serve(fleet);
  const { page, misdeeds } = await openPage(browser, dashboard.url);
  await page.waitForSelector('.cell');
  const paint = await firstPaint(page);
  const loading = (await longTasks(page)).length;
  const worded: number[] = [];
  fleet.rotate.push('r1');
  for (let shown = 0; shown <= 1_000; shown += 100) {
    await fleet.load(fleet.names.slice(0, shown));
    await fleet.settle();
    const began = performance.now();
    const part = await fleet.board.part(`authority/${AUTHORITY}`);
    worded.push(Math.round(performance.now() - began));
    expect(JSON.stringify(part).length).toBeLessThan(1_000_000);
    if (shown === 1_000) break;
    await page.waitForFunction(
      (count) => document.querySelector('.gate')?.textContent?.includes(`${count} of 1000`),
      shown,
    );
    await page.mouse.move(300, 600);
    await page.mouse.wheel(0, 400);
  }
  await page.waitForSelector('[data-phase=Activating]');
  const rows = await page.locator('.consumers tbody tr').count();
  expect(rows).toBeLessThan(60);
  expect(await page.locator('.cell').count()).toBeLessThan(30);
  expect(await page.textContent('.consumers h2')).toContain('1\u202f000');
  await page.fill('input[type=search]', 'service-0777');
  await page.waitForFunction(() => document.querySelectorAll('.consumers tbody tr').length === 1);
  const tasks = (await longTasks(page)).map(Math.round);
  console.log(
    `1,000 consumers: first paint ${Math.round(paint)} ms; long tasks: ${loading} while loading, ${tasks.length - loading} over 12 updates, each of them ${tasks.slice(loading).join(', ') || '-'} ms; server: ${worded.join(', ')} ms to put a look into words`,
  );
  expect(misdeeds).toEqual({ said: [], requests: [] });
  await page.context().close();
  await dashboard.close();
});

test('15 columns are all in sight on a wide page; on a narrow one they scroll beside the names', async () => {
  const fleet = await begun(15);
  const dashboard = await serve(fleet);
  const look = () => {
    const region = document.querySelector('.trust .scroll');
    const [name, last] = [
      document.querySelector('.grid tbody th'),
      document.querySelector('[data-at="0,14"]'),
    ];
    if (region === null || name === null || last === null) throw new Error('no grid');
    const [outer, left, right] = [region, name, last].map((one) => one.getBoundingClientRect());
    region.scrollLeft = 0;
    const hidden = Math.max(0, region.scrollWidth - region.clientWidth);
    const pageScrolls = document.documentElement.scrollWidth > innerWidth;
    return {
      hidden,
      pageScrolls,
      name: (left?.left ?? 0) >= (outer?.left ?? 0),
      last: Math.round(right?.right ?? 0) <= Math.round(outer?.right ?? 0),
      covered: (right?.left ?? 0) < (left?.right ?? 0),
    };
  };
  const wide = await openPage(browser, dashboard.url, { viewport: { width: 1280, height: 900 } });
  await wide.page.waitForSelector('[data-at="0,14"]');
  expect(await wide.page.evaluate(look)).toEqual({
    hidden: 0,
    pageScrolls: false,
    name: true,
    last: true,
    covered: false,
  });
  await wide.page.context().close();
  const narrow = await openPage(browser, dashboard.url, { viewport: { width: 360, height: 740 } });
  await narrow.page.waitForSelector('[data-at="0,14"]');
  await narrow.page.locator('[data-at="0,0"]').focus();
  await narrow.page.keyboard.press('End');
  const seen = await narrow.page.evaluate(look);
  expect(seen).toMatchObject({ pageScrolls: false, name: true, last: true, covered: false });
  expect(seen.hidden).toBeGreaterThan(100);
  await narrow.page.context().close();
  await dashboard.close();
});

test('a consumer that blocks a rotation is named with what it has to do, until it confirms', async () => {
  const fleet = await begun(5);
  fleet.rotate.push('r1');
  await fleet.settle();
  await fleet.load(fleet.names.filter((name) => name !== 'service-3'));
  await fleet.settle();
  const dashboard = await serve(fleet);
  const { page } = await openPage(browser, dashboard.url);
  await page.waitForSelector('.blockers li');
  expect(await page.textContent('.blockers')).toContain('Waiting for service-3 to load CA generation 2.');
  expect(await page.textContent('.headline .detail')).toContain('Waiting for service-3.');
  expect(await page.locator('tr.waits').allTextContents()).toEqual([expect.stringContaining('service-3')]);
  await fleet.load();
  await fleet.settle();
  await page.waitForSelector('[data-phase=Activating]');
  expect(await page.textContent('.headline')).not.toContain('Waiting for service-3.');
  await page.context().close();
  await dashboard.close();
});

test('a hook that failed is shown with its message and its next try, before one that worked', async () => {
  const fleet = await begun(2);
  const { plan, observation } = await fleet.once();
  const hooks = ['done', 'failed'].map((state, index) => ({
    ...{ hook: `Leaf shop/service-${index + 1}`, how: 'command', exitCode: index * 7, hasWorked: true },
    ...{ state, failures: index, at: new Date(Date.now() - 65_000).toISOString() },
    message: state === 'failed' ? 'nginx ended with 7, stderr: "no such <b>pid</b>"' : null,
    nextTry: state === 'failed' ? new Date(Date.now() + 3_600_000).toISOString() : null,
  })) as readonly HookStatus[];
  fleet.board.saw({ authority: AUTHORITY, plan, observation: { ...observation, hooks }, acted: false });
  const dashboard = await serve(fleet);
  const { page } = await openPage(browser, dashboard.url);
  await page.waitForSelector('.hooks li');
  const [failed, done] = await page.locator('.hooks li').allTextContents();
  expect(failed).toMatch(
    /^Leaf shop\/service-2 \(command\) failed: nginx ended with 7, stderr: "no such <b>pid<\/b>" 1 min ago, next try in 59 min$/,
  );
  expect(done).toMatch(/^Leaf shop\/service-1 \(command\) done 1 min ago$/);
  await page.context().close();
  await dashboard.close();
});

test('changes by other programs that Handover repaired are on the page', async () => {
  const fleet = await begun(2);
  const dashboard = await serve(fleet);
  const { page } = await openPage(browser, dashboard.url);
  await page.waitForSelector('.cell');
  const stored = await fleet.objects.read('shop/secrets/service-1');
  fleet.objects.put('shop/secrets/service-1', {
    data: { ...stored?.data, 'ca.crt': bytesOf('nonsense') },
    ...(stored?.record === undefined ? {} : { record: stored.record }),
  });
  await fleet.settle();
  await page.waitForFunction(() => document.querySelector('[data-tally=repairs]')?.textContent === '1');
  await page.getByLabel('drift repairs').check();
  expect(await page.locator('.log li').allTextContents()).toEqual([
    expect.stringContaining('shop/secrets/service-1: another program had changed it'),
  ]);
  await page.context().close();
  await dashboard.close();
});

test('text from outside stays text', async () => {
  const fleet = await begun(1);
  const { plan, observation } = await fleet.once();
  const name = '<img src=x onerror=alert(1)>';
  const consumers = observation.seen.consumers.map((consumer) => ({ ...consumer, id: name }));
  fleet.board.saw({
    authority: AUTHORITY,
    plan,
    observation: { ...observation, seen: { ...observation.seen, consumers } },
    acted: false,
  });
  fleet.board.repaired(name, '<script>alert(1)</script>');
  const dashboard = await serve(fleet);
  const { page, misdeeds } = await openPage(browser, dashboard.url);
  await page.waitForSelector('.log li');
  expect(await page.locator('.consumers tbody th').first().textContent()).toBe(name);
  expect(await page.locator('img, script:not([src])').count()).toBe(0);
  expect(misdeeds).toEqual({ said: [], requests: [] });
  await page.context().close();
  await dashboard.close();
});

test('a page whose server goes away says so, and is live again when it is back', async () => {
  const fleet = await begun(2);
  const first = await serve(fleet);
  const { page } = await openPage(browser, first.url);
  await page.waitForSelector('.link-state.live');
  await first.close();
  await page.waitForSelector('.link-state.lost');
  const second = await serve(fleet, first.port);
  fleet.rotate.push('r1');
  await fleet.settle();
  await page.waitForSelector('.link-state.live', { timeout: 60_000 });
  await page.waitForSelector('[data-phase=Introducing]');
  await page.context().close();
  await second.close();
});

test('one of several authorities is chosen by a link, and the address keeps the choice', async () => {
  const fleet = await begun(2);
  const { plan, observation } = await fleet.once();
  fleet.board.saw({ authority: 'shop/zeta', plan, observation, acted: false });
  const dashboard = await serve(fleet);
  const { page } = await openPage(browser, dashboard.url);
  await page.waitForSelector(`[data-authority="${AUTHORITY}"]`);
  await page.getByRole('link', { name: 'shop/zeta' }).press('Enter');
  await page.waitForSelector('[data-authority="shop/zeta"]');
  await page.reload();
  await page.waitForSelector('[data-authority="shop/zeta"]');
  await page.context().close();
  await dashboard.close();
});

test('the browser refuses what the policy forbids, and a page that tried would not go unnoticed', async () => {
  const fleet = await begun(1);
  const dashboard = await serve(fleet);
  const { page, misdeeds } = await openPage(browser, dashboard.url);
  await page.waitForSelector('.cell');
  const done = await page.evaluate(async () => {
    const succeeded: string[] = [];
    const attempt = async (what: string, act: () => unknown): Promise<void> => {
      try {
        await act();
        succeeded.push(what);
      } catch {
        // Refused, as it should be.
      }
    };
    await attempt('markup from a string', () => document.body.insertAdjacentHTML('beforeend', '<b>x</b>'));
    const script = document.createElement('script');
    script.append('document.title = "ran"');
    document.body.append(script);
    if (document.title === 'ran') succeeded.push('an inline script');
    await attempt('a request elsewhere', () => fetch('http://127.0.0.1:1/'));
    document.body.setAttribute('style', 'opacity: 0.5');
    if (getComputedStyle(document.body).opacity !== '1') succeeded.push('an inline style');
    return succeeded;
  });
  expect(done).toEqual([]);
  await expect
    .poll(() => misdeeds.said.filter((said) => said.includes('policy: ')).length)
    .toBeGreaterThanOrEqual(4);
  for (const directive of ['require-trusted-types-for', 'connect-src', 'style-src-attr'])
    expect(misdeeds.said.some((said) => said.startsWith(`error: policy: ${directive}`))).toBe(true);
  await page.context().close();
  await dashboard.close();
});
