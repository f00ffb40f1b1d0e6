import { HandoverError, type Instant } from '@handover/material';

/** How a reload ended. `updated` and `unchanged` are good; after every other one the last good material stays. */
export type Reason =
  | 'updated'
  | 'unchanged'
  | 'read_error'
  | 'empty'
  | 'parse_error'
  /** Certificate and key do not belong together. */
  | 'mismatch'
  /** A certificate that has expired or is not valid yet. */
  | 'not_valid_now';

export type Outcome =
  | { readonly reason: 'updated' | 'unchanged' }
  | { readonly reason: Exclude<Reason, 'updated' | 'unchanged'>; readonly error: HandoverError };

export type Failure = Extract<Outcome, { error: HandoverError }>;

export interface ReloadedEvent {
  readonly hash: string;
  readonly previousHash: string;
  readonly loads: number;
  readonly at: Instant;
}

/** The last good material stays in use. */
export interface KeptEvent {
  readonly reason: Failure['reason'];
  readonly error: HandoverError;
  readonly path: string;
  readonly at: Instant;
}

const REASONS: Readonly<Record<string, Failure['reason']>> = {
  FILE_EMPTY: 'empty',
  KEY_MISMATCH: 'mismatch',
  CERTIFICATE_EXPIRED: 'not_valid_now',
  CERTIFICATE_NOT_YET_VALID: 'not_valid_now',
};

/** Anything thrown while loading, labelled. */
export function failureOf(thrown: unknown, path: string): Failure {
  const error =
    thrown instanceof HandoverError
      ? thrown
      : new HandoverError('LOAD_FAILED', `${path} could not be loaded: ${firstLine(thrown)}`, {
          path,
          retry: 'later',
          cause: thrown,
        });
  const reason = REASONS[error.code] ?? (error.code.startsWith('FILE_') ? 'read_error' : 'parse_error');
  return { reason, error };
}

const firstLine = (thrown: unknown): string => {
  const text = thrown instanceof Error ? thrown.message : String(thrown);
  return text.split('\n', 1)[0] ?? '';
};
