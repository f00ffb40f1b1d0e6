import { readdirSync } from 'node:fs';
import { instant } from '@handover/material';
import { TestClock } from '@handover/test-api-server';
import { expect, test } from 'vitest';
import { handover, turning } from '../../test/capture.ts';
import { temporaryFilesHere } from '../../test/temporary-files.ts';

test('Ctrl-C in the middle of the demo leaves nothing behind, and prints the figures so far', async () => {
  const folder = temporaryFilesHere();
  const stop = new AbortController();
  const clock = new TestClock(instant(Date.now()));
  const ran = handover(['demo', '--json'], { clock, signal: stop.signal });
  clock.after(1_500, () => stop.abort());
  const { code, stdout } = await turning(clock, ran);
  expect(code).toBe(0);
  expect(JSON.parse(stdout)).toMatchObject({ rotations: 0, failures: 0, perRotation: [] });
  expect(readdirSync(folder)).toEqual([]);
});

test('the demo reports in one line a port that is taken', async () => {
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
