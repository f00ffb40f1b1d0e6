import type { ServerResponse } from 'node:http';
import type { Clock, Timer } from '@handover/material';
import type { Board, PartName } from './board.ts';

/** Changes within this are sent together. */
const COALESCE_MS = 150;
const HEARTBEAT_MS = 15_000;
/** A reader that takes nothing for this long is disconnected; a browser reconnects by itself. */
const STUCK_MS = 30_000;
const RETRY_MS = 2_000;

/**
 * One page that follows the board by server-sent events. It stores only the names of changed parts, not their content: a slow reader
 * gets fewer and newer parts, and costs no memory.
 */
export class Stream {
  readonly #board: Board;
  readonly #response: ServerResponse;
  readonly #dirty = new Set<PartName>();
  readonly #onEnd: () => void;
  readonly #clock: Clock;
  #unsubscribe: (() => void) | undefined;
  #heartbeat: Timer | undefined;
  #timer: Timer | undefined;
  #stuck: Timer | undefined;
  #busy = false;
  #ended = false;

  constructor(board: Board, response: ServerResponse, clock: Clock, onEnd: () => void) {
    this.#clock = clock;
    this.#board = board;
    this.#response = response;
    this.#onEnd = onEnd;
  }

  /** Sends every part, then those that change, until the reader goes. */
  start(): void {
    this.#unsubscribe = this.#board.onChange((part) => this.#change(part));
    this.#heartbeat = this.#clock.every(HEARTBEAT_MS, () => {
      if (!this.#busy) void this.#write(': still here\n\n');
      // Sent again now and then even without a change.
      this.#change('rest');
    });
    this.#response.once('close', () => {
      this.#end();
      this.#onEnd();
    });
    void this.#write(`retry: ${RETRY_MS}\n\n`);
    for (const part of this.#board.parts()) this.#dirty.add(part);
    void this.#flush();
  }

  #end(): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#unsubscribe?.();
    this.#heartbeat?.cancel();
    this.#timer?.cancel();
    this.#stuck?.cancel();
  }

  /** Ends the connection. */
  close(): void {
    this.#end();
    this.#response.destroy();
  }

  #change(part: PartName): void {
    this.#dirty.add(part);
    if (this.#timer !== undefined || this.#busy || this.#ended) return;
    this.#timer = this.#clock.after(COALESCE_MS, () => {
      this.#timer = undefined;
      void this.#flush();
    });
  }

  /** One part at a time, with its content of that moment; the next only when the reader has taken the last. */
  async #flush(): Promise<void> {
    if (this.#busy) return;
    this.#busy = true;
    try {
      for (const name of this.#dirty) {
        this.#dirty.delete(name);
        const part = await this.#board.part(name);
        if (part === undefined) continue;
        if (this.#ended) return;
        await this.#write(`event: ${part.event}\ndata: ${JSON.stringify(part.data)}\n\n`);
      }
      await this.#write('event: whole\ndata: {}\n\n');
    } catch {
      this.close();
    } finally {
      this.#busy = false;
    }
    const [next] = this.#dirty;
    if (next !== undefined) this.#change(next);
  }

  async #write(text: string): Promise<void> {
    if (this.#ended || this.#response.write(text)) return;
    this.#stuck = this.#clock.after(STUCK_MS, () => this.close());
    await new Promise<void>((resolve) => {
      const go = (): void => {
        this.#response.off('drain', go);
        this.#response.off('close', go);
        resolve();
      };
      this.#response.once('drain', go).once('close', go);
    });
    this.#stuck.cancel();
  }
}
