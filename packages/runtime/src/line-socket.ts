import type { Socket } from 'node:net';
import { StringDecoder } from 'node:string_decoder';

/** A status document is at most 64 KiB; one process says no more than that. */
const MAX_LINE_CHARACTERS = 256 * 1024;

/** JSON objects, one a line, between the processes of one cluster. Any other line ends the connection. */
export class LineSocket<Sent extends object, Received extends object> {
  readonly #socket: Socket;

  constructor(socket: Socket, received: (message: Partial<Received>) => void, closed: () => void) {
    this.#socket = socket;
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
    // Without a listener an error would end the process; `close` follows it.
    socket.on('error', () => undefined).on('close', closed);
  }

  send(message: Sent): void {
    if (this.#socket.writable) this.#socket.write(`${JSON.stringify(message)}\n`);
  }

  /** Closes the connection after everything that was sent. */
  end(): void {
    this.#socket.destroySoon();
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
