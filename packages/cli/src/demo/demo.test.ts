import { readdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { instant } from '@handover/material';
import { TestClock } from '@handover/test-api-server';
import { expect, test } from 'vitest';
import { handover, turning } from '../../test/capture.ts';
import { demo, type Moment } from './demo.ts';

const leftovers = () =>
  readdirSync(tmpdir())
    .filter((name) => name.startsWith('handover-demo-'))
    .sort();

test('a rotation under live traffic in every direction fails no handshake, and nothing stays behind', async () => {
  const before = leftovers();
  const phases = new Set<string>();
  let url = '';
  let page = '';
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
        });
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
  await expect(fetch(url)).rejects.toThrow();
  expect(leftovers()).toEqual(before);
});

test('Ctrl-C in the middle leaves nothing behind, and the figures so far are printed', async () => {
  const before = leftovers();
  const stop = new AbortController();
  const clock = new TestClock(instant(Date.now()));
  const ran = handover(['demo', '--json'], { clock, signal: stop.signal });
  clock.after(1_500, () => stop.abort());
  const { code, stdout } = await turning(clock, ran);
  expect(code).toBe(0);
  expect(JSON.parse(stdout)).toMatchObject({ rotations: 0, failures: 0, perRotation: [] });
  expect(leftovers()).toEqual(before);
});

test('a port that is taken is one line', async () => {
  const { createServer } = await import('node:http');
  const server = createServer();
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  const { port } = server.address() as { port: number };
  expect(await handover(['demo', '--port', String(port)])).toMatchObject({
    code: 1,
    stderr: `PORT_TAKEN: port ${port} cannot be used (EADDRINUSE); choose another with --port\n`,
  });
  server.close();
});
