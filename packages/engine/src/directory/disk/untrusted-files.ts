import type { Clock, HandoverError } from '@handover/material';
import { EngineError } from '../../error.ts';
import { askSocket } from '../../evidence/fetch-text.ts';
import { diskFiles } from './files.ts';
import { type PathQuery, type PathSnapshot, readPath } from './path-snapshot.ts';
import type { PathReader } from './trusted-path.ts';

/**
 * Files and sockets that other users can put anywhere, also on a file system that does not answer. `share`: on whose account;
 * one that does not answer delays others of its share alone.
 */
export interface UntrustedFiles {
  /** Fails with `FILE_NO_ANSWER` after 2 s. System errors come as they are. */
  look(ask: PathQuery, share: string): Promise<PathSnapshot>;
  /** The status document behind a socket. */
  document(socket: string, share: string): Promise<string>;
  /** Asks nothing any more, and gives up what it waits for. */
  stop(): void;
}

export const ANSWER_MS = 2_000;
/** How long a question may wait for its turn. */
export const IN_LINE_MS = 10_000;

/** Why a path was not read, to be said after its name. */
const WHY_UNREAD = {
  noAnswer: `did not answer within ${ANSWER_MS / 1_000} s; is its file system there?`,
  unasked: `timed out in the queue after ${IN_LINE_MS / 1_000} s, because files before it did not answer; it will be asked again`,
} as const;

export const unread = (path: string, why: keyof typeof WHY_UNREAD): HandoverError =>
  new EngineError('FILE_NO_ANSWER', `${path} ${WHY_UNREAD[why]}`, { path, retry: 'later' });

/** In this process, which a file system that does not answer would block: for tests, which run from source. */
export const inProcessFiles = (clock: Clock, files: PathReader = diskFiles): UntrustedFiles => ({
  look: async (ask) => readPath(files, ask),
  document: (socket) => askSocket(socket, clock),
  stop: () => {},
});
