import { EventEmitter } from 'node:events';
import type { ServerResponse } from 'node:http';
import { TestClock } from '@handover/test-api-server';
import { expect, test } from 'vitest';
import { Board } from './board.ts';
import { Stream } from './stream.ts';

/** A reader that reads only when told to. */
class Reader extends EventEmitter {
  readonly writes: string[] = [];
  takes = true;
  destroyed = false;

  write(text: string): boolean {
    this.writes.push(text);
    return this.takes;
  }

  take(): void {
    this.takes = true;
    this.emit('drain');
  }

  destroy(): void {
    this.destroyed = true;
    this.emit('close');
  }
}

const begin = async () => {
  const clock = new TestClock();
  const board = new Board({ title: 'x', now: () => 0 });
  const reader = new Reader();
  let ended = 0;
  const stream = new Stream(board, reader as unknown as ServerResponse, clock, () => {
    ended++;
  });
  stream.start();
  await clock.advance(0);
  return { clock, board, reader, stream, ended: () => ended };
};

const figures = (writes: readonly string[]): readonly string[] =>
  writes.filter((text) => text.includes('event: figures'));

test('a stream tells a hundred changes within a moment once, as they are in the end', async () => {
  const { clock, board, reader } = await begin();
  for (let n = 0; n < 100; n++) board.counted(1, 0);
  await clock.advance(1_000);
  expect(figures(reader.writes)).toHaveLength(1);
  expect(figures(reader.writes)[0]).toContain('"handshakes":100');
});

test('a reader of a stream that takes nothing gets nothing more, and then the newest parts', async () => {
  const { clock, board, reader } = await begin();
  reader.takes = false;
  board.counted(1, 0);
  await clock.advance(1_000);
  const sent = reader.writes.length;
  for (let n = 0; n < 50; n++) {
    board.counted(1, 0);
    board.failed(`thing ${n}`, new Error('x'));
    await clock.advance(300);
  }
  expect(reader.writes).toHaveLength(sent);
  reader.take();
  await clock.advance(1_000);
  expect(figures(reader.writes)).toHaveLength(2);
  expect(figures(reader.writes)[1]).toContain('"handshakes":51');
  expect(reader.destroyed).toBe(false);
});

test('a reader of a stream that takes nothing for half a minute is disconnected', async () => {
  const { clock, board, reader, ended } = await begin();
  reader.takes = false;
  board.counted(1, 0);
  await clock.advance(29_000);
  expect(reader.destroyed).toBe(false);
  await clock.advance(3_000);
  expect(reader.destroyed).toBe(true);
  expect(ended()).toBe(1);
});

test('a stream sends a sign of life when nothing happens, and nothing once it has ended', async () => {
  const { clock, board, reader, stream } = await begin();
  const before = reader.writes.length;
  await clock.advance(16_000);
  expect(reader.writes.slice(before)).toContain(': still here\n\n');
  stream.close();
  const after = reader.writes.length;
  board.counted(1, 0);
  await clock.advance(60_000);
  expect(reader.writes).toHaveLength(after);
  expect(clock.next).toBeUndefined();
});
