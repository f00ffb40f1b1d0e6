import { HandoverError } from '@handover/material';
import { beforeEach, expect, test } from 'vitest';
import { type Account, MetricsAccess } from './access.ts';

const SCRAPER: Account = { username: 'system:serviceaccount:monitoring:prometheus', groups: ['g'] };
const OTHER: Account = { username: 'system:serviceaccount:evil:default' };

let now: number;
let tokens: Map<string, Account>;
let allowed: Set<string>;
let asked: string[];
let failures: unknown[];
let away: boolean;
let hold: Promise<void> | undefined;
let access: MetricsAccess;
beforeEach(() => {
  now = 1_000;
  tokens = new Map([
    ['good', SCRAPER],
    ['other', OTHER],
  ]);
  allowed = new Set([SCRAPER.username]);
  asked = [];
  failures = [];
  away = false;
  hold = undefined;
  access = new MetricsAccess({
    reviews: {
      accountOf: async (token) => {
        asked.push(token);
        await hold;
        if (away) throw new HandoverError('KUBE_UNAVAILABLE', 'no API server');
        return tokens.get(token);
      },
      mayRead: async ({ username }) => allowed.has(username),
    },
    now: () => now,
    onFailure: (error) => failures.push(error),
  });
});

const status = async (authorization?: string, client?: string): Promise<number> =>
  (await access.refusal(authorization, client))?.status ?? 200;

test('a token with the right to read metrics is accepted, one without is forbidden, an unknown one is refused', async () => {
  expect(await status('Bearer good')).toBe(200);
  expect(await status('bearer good')).toBe(200);
  expect(await status('Bearer other')).toBe(403);
  expect(await status('Bearer made-up')).toBe(401);
});

test.each([undefined, '', 'Bearer', 'Bearer ', 'Basic Z29vZDp4', 'Bearer good other', 'Bearer gö', 'good'])(
  '%j is no bearer token, and the API server is not asked about it',
  async (header) => {
    expect(await status(header)).toBe(401);
    expect(asked).toEqual([]);
  },
);

test('no new token is accepted while the API server is away, and that is not remembered', async () => {
  away = true;
  expect(await status('Bearer good')).toBe(503);
  expect(failures).toMatchObject([{ code: 'KUBE_UNAVAILABLE' }]);
  away = false;
  expect(await status('Bearer good')).toBe(200);
});

test('a review of a token counts for a minute; then a right that was taken away or given counts', async () => {
  expect(await status('Bearer good')).toBe(200);
  allowed.clear();
  now += 59_000;
  expect(await status('Bearer good')).toBe(200);
  expect(asked).toHaveLength(1);
  now += 1_001;
  expect(await status('Bearer good')).toBe(403);
  allowed.add(SCRAPER.username);
  now += 10_001;
  expect(await status('Bearer good')).toBe(200);
});

test('one token in many requests at once is reviewed once', async () => {
  const all = await Promise.all(Array.from({ length: 50 }, () => status('Bearer good')));
  expect(new Set(all)).toEqual(new Set([200]));
  expect(asked).toHaveLength(1);
});

test('made-up tokens do not keep the API server busy', async () => {
  let go = (): void => {};
  hold = new Promise((resolve) => {
    go = resolve;
  });
  const all = Array.from({ length: 100 }, (_, index) => status(`Bearer t${index}`, `10.0.0.${index}`));
  go();
  const codes = await Promise.all(all);
  expect(codes.filter((code) => code === 401)).toHaveLength(8);
  expect(codes.filter((code) => code === 503)).toHaveLength(92);
  expect(asked).toHaveLength(8);
});

test('made-up tokens of one client leave places for the tokens of others', async () => {
  let go = (): void => {};
  hold = new Promise((resolve) => {
    go = resolve;
  });
  const invented = Array.from({ length: 100 }, (_, index) => status(`Bearer t${index}`, '10.0.0.1'));
  const good = status('Bearer good', '10.0.0.2');
  go();
  expect(await good).toBe(200);
  expect((await Promise.all(invented)).filter((code) => code === 401)).toHaveLength(2);
});

test('a token that was allowed before is reviewed again, however many made-up ones are under way or were reviewed since', async () => {
  expect(await status('Bearer good')).toBe(200);
  for (let index = 0; index < 300; index++) await status(`Bearer made-up-${index}`);
  now += 60_001;
  let go = (): void => {};
  hold = new Promise((resolve) => {
    go = resolve;
  });
  const invented = Array.from({ length: 8 }, (_, index) => status(`Bearer t${index}`, `10.0.0.${index}`));
  const good = status('Bearer good', '10.0.0.9');
  go();
  expect(await good).toBe(200);
  await Promise.all(invented);
});

test('reviews that are remembered are bounded, and hold no token', async () => {
  await status('Bearer good');
  for (let index = 0; index < 300; index++) await status(`Bearer made-up-${index}`);
  asked = [];
  // The oldest was forgotten, the newest is known, and so is the one that was allowed.
  await status('Bearer made-up-299');
  await status('Bearer good');
  expect(asked).toEqual([]);
  await status('Bearer made-up-0');
  expect(asked).toEqual(['made-up-0']);
});
