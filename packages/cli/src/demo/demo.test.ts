import { readdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { expect, test } from 'vitest';
import { handover } from '../../test/capture.ts';
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
  const report = await demo({
    rotations: 1,
    port: 0,
    pace: 0.25,
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
  const ran = handover(['demo', '--json'], { signal: stop.signal });
  setTimeout(() => stop.abort(), 1_500);
  const { code, stdout } = await ran;
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
