import type { Socket } from 'node:net';
import type { StartTls } from '@handover/core';
import type { Clock } from '@handover/material';
import { DIALOGUES, type Heard } from './start-tls-dialogues.ts';

/** Why TLS cannot start, read after the server's address. */
export interface NoTls {
  readonly kind: 'timeout' | 'not-tls';
  readonly why: string;
  /** It may do so later. */
  readonly isBusy?: boolean;
}

/** How long a server may take, by which clock. */
export interface Deadline {
  readonly clock: Clock;
  readonly timeoutMs: number;
}

/** What servers say before TLS is short; one that says more is none of these. */
const MAX_BYTES = 64 * 1024;

/**
 * Asks a connected server to go over to TLS. Undefined: it waits for a ClientHello. Whatever it sent beyond its consent was not
 * protected, so that such a server is refused. Never rejects.
 */
export const startTls = (
  socket: Socket,
  protocol: StartTls,
  servername: string,
  { clock, timeoutMs }: Deadline,
): Promise<NoTls | undefined> =>
  new Promise((resolve) => {
    const dialogue = DIALOGUES[protocol](servername);
    let bytes = Buffer.alloc(0);
    let total = 0;
    const end = (result: NoTls | undefined): void => {
      timer.cancel();
      socket.off('data', hear).off('error', closed).off('close', closed).off('end', closed);
      socket.on('error', () => {}); // a late error no longer matters
      resolve(result);
    };
    const notTls = (why: string): void => end({ kind: 'not-tls', why });
    const closed = (): void => notTls(`closes the connection before ${protocol} has started TLS`);
    const take = (heard: Heard): void => {
      bytes = bytes.subarray(heard.used);
      if (heard.send !== undefined) socket.write(heard.send);
      if (heard.refused !== undefined)
        end({ kind: 'not-tls', why: heard.refused, isBusy: heard.isBusy === true });
      else if (heard.done !== true) return;
      else if (bytes.length > 0)
        notTls('sends unprotected data between its consent to TLS and the handshake');
      else end(undefined);
    };
    const hear = (chunk: Buffer): void => {
      total += chunk.length;
      bytes = Buffer.concat([bytes, chunk]);
      let heard: Heard | undefined =
        total > MAX_BYTES ? { used: 0, refused: `does not speak ${protocol}` } : dialogue.hear(bytes);
      while (heard !== undefined) {
        take(heard);
        const isOver = heard.refused !== undefined || heard.done === true;
        heard = isOver ? undefined : dialogue.hear(bytes);
      }
    };
    const timer = clock.after(timeoutMs, () =>
      end({ kind: 'timeout', why: `does not start TLS by ${protocol} within ${timeoutMs / 1000} s` }),
    );
    socket.on('data', hear).on('error', closed).on('close', closed).on('end', closed);
    if (dialogue.opening !== undefined) socket.write(dialogue.opening);
  });
