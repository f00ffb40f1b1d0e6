import type { Socket } from 'node:net';
import { StringDecoder } from 'node:string_decoder';
import type { Clock } from '@handover/material';

/** A status document is at most 64 KiB; one process says no more than that. */
const MAX_LINE_CHARACTERS = 256 * 1024;
/** How long the last lines may take to a process that does not read. */
const LAST_LINES_MS = 500;

/** JSON objects, one a line, between the processes of one cluster. Any other line ends the connection. */
export class LineSocket<Sent extends object, Received extends object> {
  readonly #socket: Socket;
  readonly #clock: Clock;

  constructor(
    socket: Socket,
    clock: Clock,
    received: (message: Partial<Received>) => void,
    closed: () => void,
  ) {
    this.#socket = socket;
    this.#clock = clock;
    let rest = '';
    // Not setEncoding: a socket of an HTTP server refuses it.
    const decoder = new StringDecoder('utf8');
    socket.unref().on('data', (bytes: Buffer) => {
      const lines = (rest + decoder.write(bytes)).split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) {
        const message = objectIn(line);
        if (message === undefined) {
          socket.destroy();
          return;
        }
        received(message);
      }
      if (rest.length > MAX_LINE_CHARACTERS) socket.destroy();
    });
    // A socket of an HTTP server stays half open.
    socket.on('end', () => this.end());
    // Without a listener an error would end the process; `close` follows it.
    socket.on('error', () => undefined).on('close', closed);
  }

  send(message: Sent): void {
    if (this.#socket.writable) this.#socket.write(`${JSON.stringify(message)}\n`);
  }

  /** Closes the connection after everything that was sent. */
  end(): void {
    const socket = this.#socket;
    if (socket.destroyed) return;
    const late = this.#clock.after(LAST_LINES_MS, () => socket.destroy());
    socket.once('close', () => late.cancel()).destroySoon();
  }
}

function objectIn(line: string): object | undefined {
  try {
    const value: unknown = JSON.parse(line);
    return typeof value === 'object' && value !== null ? value : undefined;
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}
