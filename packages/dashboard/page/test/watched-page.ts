import type { Browser, BrowserContextOptions, Page } from 'playwright-core';

/** Everything a page must not do. */
export interface Misdeeds {
  readonly said: string[];
  readonly requests: string[];
}

export interface WatchedPage {
  readonly page: Page;
  readonly misdeeds: Misdeeds;
}

/** A page whose every word on the console, every error, every breach of its policy and every request elsewhere is written down. */
export const openPage = async (
  browser: Browser,
  url: string,
  options: BrowserContextOptions = {},
): Promise<WatchedPage> => {
  const context = await browser.newContext(options);
  const page = await context.newPage();
  // A busy machine is no reason to fail.
  page.setDefaultTimeout(120_000);
  const misdeeds: Misdeeds = { said: [], requests: [] };
  page.on('console', (message) => misdeeds.said.push(`${message.type()}: ${message.text()}`));
  page.on('pageerror', (error) => misdeeds.said.push(`error: ${error.message}`));
  page.on('request', (request) => {
    if (new URL(request.url()).origin !== new URL(url).origin) misdeeds.requests.push(request.url());
  });
  await page.addInitScript(() => {
    addEventListener('securitypolicyviolation', (event) =>
      console.error(`policy: ${event.violatedDirective} ${event.blockedURI}`),
    );
    const tasks: number[] = [];
    new PerformanceObserver((list) => {
      for (const entry of list.getEntries()) tasks.push(entry.duration);
    }).observe({ type: 'longtask', buffered: true });
    Object.assign(globalThis, { longTasks: tasks });
  });
  await page.goto(url);
  return { page, misdeeds };
};

/** Milliseconds from navigation to the first paint with something on it. */
export const firstPaint = (page: Page): Promise<number> =>
  page.evaluate(() => performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? Number.NaN);

/** Durations of every task that kept the page from answering for 50 ms or more. */
export const longTasks = (page: Page): Promise<readonly number[]> =>
  page.evaluate(() => (globalThis as unknown as { longTasks: number[] }).longTasks);

/** Texts whose contrast with what is behind them is too small: WCAG 2.1, 1.4.3. */
export const tooFaint = (page: Page): Promise<readonly string[]> =>
  page.evaluate(() => {
    type Colour = readonly [number, number, number, number];
    const canvas = document.createElement('canvas').getContext('2d', { willReadFrequently: true });
    const parse = (text: string): Colour => {
      if (canvas === null) throw new Error('no canvas');
      canvas.clearRect(0, 0, 1, 1);
      canvas.fillStyle = text;
      canvas.fillRect(0, 0, 1, 1);
      const [r = 0, g = 0, b = 0, a = 0] = canvas.getImageData(0, 0, 1, 1).data;
      return [r, g, b, a / 255];
    };
    const over = (top: Colour, under: Colour): Colour => {
      const mix = (a: number, b: number): number => a * top[3] + b * (1 - top[3]);
      return [mix(top[0], under[0]), mix(top[1], under[1]), mix(top[2], under[2]), 1];
    };
    const luminance = ([r, g, b]: Colour): number => {
      const linear = (value: number): number => {
        const share = value / 255;
        return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
      };
      return 0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b);
    };
    const behind = (element: Element | null): Colour => {
      if (element === null) return [255, 255, 255, 1];
      const own = parse(getComputedStyle(element).backgroundColor);
      return own[3] === 1 ? own : over(own, behind(element.parentElement));
    };
    const faint: string[] = [];
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    for (let node = walker.nextNode(); node !== null; node = walker.nextNode()) {
      const element = node.parentElement;
      const text = node.textContent?.trim() ?? '';
      if (element === null || text === '' || element.closest('noscript, script, style') !== null) continue;
      if (!element.checkVisibility()) continue;
      const style = getComputedStyle(element);
      const under = behind(element);
      const [light, dark] = [luminance(over(parse(style.color), under)), luminance(under)].sort(
        (a, b) => b - a,
      );
      const ratio = ((light ?? 0) + 0.05) / ((dark ?? 0) + 0.05);
      const size = Number.parseFloat(style.fontSize);
      const large = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
      if (ratio < (large ? 3 : 4.5))
        faint.push(`${ratio.toFixed(2)} ${element.className} ${text.slice(0, 40)}`);
    }
    return faint;
  });
