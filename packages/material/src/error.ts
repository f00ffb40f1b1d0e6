/** Whether trying again can help: `never` without a change of input, `later` by itself, `now` at once. */
export type Retry = 'never' | 'later' | 'now';

export interface HandoverErrorOptions {
  readonly retry?: Retry;
  /** The file, object or field the error is about. */
  readonly path?: string;
  readonly cause?: unknown;
}

/**
 * The one error class: a stable code for programs, one line for people. Never holds key material.
 *
 * @example
 * ```ts
 * import { HandoverError, openTrust } from '@handover/runtime';
 *
 * try {
 *   await openTrust('/etc/mesh/missing.crt');
 * } catch (error) {
 *   if (error instanceof HandoverError) console.log(error.code, error.retry); // FILE_MISSING later
 * }
 * ```
 */
export class HandoverError<Code extends string = string> extends Error {
  override readonly name = 'HandoverError';
  /** Stable: compare this, not the message. */
  readonly code: Code;
  /** Whether trying again can help. */
  readonly retry: Retry;
  /** The file, object or field the error is about. */
  readonly path: string | undefined;

  constructor(code: Code, message: string, options: HandoverErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    this.retry = options.retry ?? 'never';
    this.path = options.path;
  }
}
