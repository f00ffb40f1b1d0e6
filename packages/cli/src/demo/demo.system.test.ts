import { readdirSync } from 'node:fs';
import { instant } from '@handover/material';
import { TestClock } from '@handover/test-api-server';
import { expect, test } from 'vitest';
import { turning } from '../../test/capture.ts';
import { temporaryFilesHere } from '../../test/temporary-files.ts';
import { demo, type Moment } from './demo.ts';

test('the demo fails no handshake in a rotation under traffic in every direction, and leaves nothing behind', async () => {
  const folder = temporaryFilesHere();
  const phases = new Set<string>();
  let url = '';
  let page = '';
  let atTheEnd: unknown;
  // The handshakes verify by this machine's clock.
  const clock = new TestClock(instant(Date.now()));
  const shown = demo({
    clock,
    sinceBoot: () => clock.monotonic(),
    rotations: 1,
    port: 0,
    pace: 0.1,
    signal: new AbortController().signal,
    onMoment: (moment: Moment) => {
      phases.add(moment.phase);
      url = moment.url;
      if (moment.phase === 'Activating' && page === '')
        fetch(url).then(async (response) => {
          page = await response.text();
          await fetch(`${url}api/events`);
        });
    },
    // An open page stays until this resolves.
    onEnd: async ({ rotations }, viewers) => {
      atTheEnd = { rotations, viewers, status: (await fetch(url)).status };
    },
  });
  const report = await turning(clock, shown);
  expect(report).toMatchObject({
    rotations: 1,
    failures: 0,
    problems: [],
    perRotation: [{ generation: 2, failures: 0 }],
  });
  expect(report.handshakes).toBeGreaterThan(100);
  expect([...phases]).toEqual(expect.arrayContaining(['Stable', 'Introducing', 'Activating']));
  expect(page).toContain('<title>Handover</title>');
  expect(atTheEnd).toEqual({ rotations: 1, viewers: 1, status: 200 });
  await expect(fetch(url)).rejects.toThrow();
  expect(readdirSync(folder)).toEqual([]);
});
