import { HandoverError, type Instant } from '@handover/material';
import { RuntimeError } from './error.ts';
import type { ErrorCode } from './error-code.ts';

/**
 * How a reload ended. `updated` and `unchanged` are good; after any other reason the last good material stays in use.
 *
 * @example
 * ```ts
 * import type { Reason } from '@handover/runtime';
 *
 * const good: readonly Reason[] = ['updated', 'unchanged'];
 * const { reason } = await trust.reload();
 * console.log(good.includes(reason)); // true
 * ```
 */
export type Reason =
  | 'updated'
  | 'unchanged'
  | 'read_error'
  | 'empty'
  | 'parse_error'
  /** Certificate and key do not belong together. */
  | 'mismatch'
  /** A certificate that has expired or is not valid yet. */
  | 'not_valid_now'
  /** The files may be good: the code that reads them has a fault. */
  | 'program_error';

/**
 * Result of a reload: a reason, with an error when the new files could not be used.
 *
 * @example
 * ```ts
 * import type { Outcome } from '@handover/runtime';
 *
 * const outcome: Outcome = await trust.reload();
 * console.log('error' in outcome ? outcome.error.message : outcome.reason); // unchanged
 * ```
 */
export type Outcome =
  | { readonly reason: 'updated' | 'unchanged' }
  | { readonly reason: Exclude<Reason, 'updated' | 'unchanged'>; readonly error: HandoverError<ErrorCode> };

export type Failure = Extract<Outcome, { error: HandoverError }>;

/**
 * New material is in use.
 *
 * @example
 * ```ts
 * import type { ReloadedEvent } from '@handover/runtime';
 * import { openTestMesh } from '@handover/runtime/testing';
 *
 * const mesh = await openTestMesh();
 * mesh.trust.once('reloaded', ({ loads }: ReloadedEvent) => console.log(loads)); // 2
 * await mesh.rotate();
 * mesh.close();
 * ```
 */
export interface ReloadedEvent {
  /** Hash of the new material. */
  readonly hash: string;
  /** Hash of the material before. */
  readonly previousHash: string;
  /** 1 for the first load, +1 for each change since. */
  readonly loads: number;
  /** When it was loaded, in milliseconds since 1970. */
  readonly at: Instant;
}

/**
 * New files could not be used; the last good material stays in use.
 *
 * @example
 * ```ts
 * import type { KeptEvent } from '@handover/runtime';
 * import { openTestMesh } from '@handover/runtime/testing';
 *
 * const mesh = await openTestMesh();
 * mesh.trust.once('kept', ({ reason }: KeptEvent) => console.log(reason)); // empty
 * await mesh.spoil();
 * mesh.close();
 * ```
 */
export interface KeptEvent {
  /** Kind of failure. */
  readonly reason: Failure['reason'];
  /** What is wrong, and what to do. */
  readonly error: HandoverError<ErrorCode>;
  /** The file. */
  readonly path: string;
  /** When the reload failed, in milliseconds since 1970. */
  readonly at: Instant;
}

/**
 * A token was replaced. Nothing in it helps to guess the token.
 *
 * @example
 * ```ts
 * import type { TokenReloadedEvent } from '@handover/runtime';
 *
 * token.on('reloaded', ({ loads }: TokenReloadedEvent) => console.error(`token ${loads} is in use`));
 * ```
 */
export type TokenReloadedEvent = Omit<ReloadedEvent, 'hash' | 'previousHash'>;

/**
 * A leaf in use nears its end, or has passed it.
 *
 * @example
 * ```ts
 * import type { ExpiryEvent } from '@handover/runtime';
 *
 * const warn = ({ path, notAfter }: ExpiryEvent) =>
 *   console.error(`${path} ends at ${new Date(notAfter).toISOString()}`);
 * identity.on('expiring', warn).on('expired', warn);
 * ```
 */
export interface ExpiryEvent {
  /** The file. */
  readonly path: string;
  /** End of validity, in milliseconds since 1970. */
  readonly notAfter: Instant;
  /** When this was noticed, in milliseconds since 1970. */
  readonly at: Instant;
}

/**
 * Why connections in use were ended: the CA that had accepted their peer was removed.
 *
 * @example
 * ```ts
 * import type { CutReason } from '@handover/runtime';
 *
 * const cuts: Record<CutReason, number> = { ca_removed: 0 };
 * trust.on('cut', ({ reason, connections }) => {
 *   cuts[reason] += connections;
 * });
 * ```
 */
export type CutReason = 'ca_removed';

/**
 * Connections in use were ended, `drainMs` after a CA was removed.
 *
 * @example
 * ```ts
 * import type { CutEvent } from '@handover/runtime';
 *
 * trust.on('cut', ({ connections, reason }: CutEvent) => console.error(`${connections} ended: ${reason}`));
 * ```
 */
export interface CutEvent {
  /** How many connections. */
  readonly connections: number;
  /** Why they were ended. */
  readonly reason: CutReason;
  /** When they were ended, in milliseconds since 1970. */
  readonly at: Instant;
}

const REASONS: Readonly<Record<string, Failure['reason']>> = {
  FILE_EMPTY: 'empty',
  KEY_MISMATCH: 'mismatch',
  CERTIFICATE_EXPIRED: 'not_valid_now',
  CERTIFICATE_NOT_YET_VALID: 'not_valid_now',
};

/** Sorts an error thrown while loading. */
export function failureOf(thrown: unknown, path: string): Failure {
  const error =
    thrown instanceof HandoverError
      ? thrown
      : new RuntimeError('LOAD_FAILED', `${path} could not be loaded: ${firstLine(thrown)}`, {
          path,
          retry: 'later',
          cause: thrown,
        });
  return { reason: thrown instanceof TypeError ? 'program_error' : reasonOf(error.code), error };
}

const reasonOf = (code: string): Failure['reason'] =>
  REASONS[code] ?? (code.startsWith('FILE_') ? 'read_error' : 'parse_error');

const firstLine = (thrown: unknown): string => {
  const text = thrown instanceof Error ? thrown.message : String(thrown);
  return text.split('\n', 1)[0] ?? '';
};
