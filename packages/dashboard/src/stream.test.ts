import { EventEmitter } from 'node:events';
import type { ServerResponse } from 'node:http';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { Board } from './board.ts';
import { Stream } from './stream.ts';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

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
  const board = new Board({ title: 'x', now: () => 0 });
  const reader = new Reader();
  let ended = 0;
  const stream = new Stream(board, reader as unknown as ServerResponse, () => {
    ended++;
  });
  stream.start();
  await vi.advanceTimersByTimeAsync(0);
  return { board, reader, stream, ended: () => ended };
};

const figures = (writes: readonly string[]): readonly string[] =>
  writes.filter((text) => text.includes('event: figures'));

test('a hundred changes within a moment are told once, as they are in the end', async () => {
  const { board, reader } = await begin();
  for (let n = 0; n < 100; n++) board.counted(1, 0);
  await vi.advanceTimersByTimeAsync(1_000);
  expect(figures(reader.writes)).toHaveLength(1);
  expect(figures(reader.writes)[0]).toContain('"handshakes":100');
});

test('a reader that takes nothing gets nothing more, and then the newest parts', async () => {
  const { board, reader } = await begin();
  reader.takes = false;
  board.counted(1, 0);
  await vi.advanceTimersByTimeAsync(1_000);
  const sent = reader.writes.length;
  for (let n = 0; n < 50; n++) {
    board.counted(1, 0);
    board.failed(`thing ${n}`, new Error('x'));
    await vi.advanceTimersByTimeAsync(300);
  }
  expect(reader.writes).toHaveLength(sent);
  reader.take();
  await vi.advanceTimersByTimeAsync(1_000);
  expect(figures(reader.writes)).toHaveLength(2);
  expect(figures(reader.writes)[1]).toContain('"handshakes":51');
  expect(reader.destroyed).toBe(false);
});

test('a reader that takes nothing for half a minute is disconnected', async () => {
  const { board, reader, ended } = await begin();
  reader.takes = false;
  board.counted(1, 0);
  await vi.advanceTimersByTimeAsync(29_000);
  expect(reader.destroyed).toBe(false);
  await vi.advanceTimersByTimeAsync(3_000);
  expect(reader.destroyed).toBe(true);
  expect(ended()).toBe(1);
});

test('a sign of life comes when nothing happens, and nothing at all once it has ended', async () => {
  const { board, reader, stream } = await begin();
  const before = reader.writes.length;
  await vi.advanceTimersByTimeAsync(16_000);
  expect(reader.writes.slice(before)).toContain(': still here\n\n');
  stream.close();
  const after = reader.writes.length;
  board.counted(1, 0);
  await vi.advanceTimersByTimeAsync(60_000);
  expect(reader.writes).toHaveLength(after);
  expect(vi.getTimerCount()).toBe(0);
});
