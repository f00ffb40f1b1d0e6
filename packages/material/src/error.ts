/** Whether trying again can help: `never` without a change of input, `later` by itself, `now` at once. */
export type Retry = 'never' | 'later' | 'now';

export interface HandoverErrorOptions {
  readonly retry?: Retry;
  /** The file, object or field the error is about. */
  readonly path?: string;
  readonly cause?: unknown;
}

/** The one error class: a stable code for machines, one line for people. Never holds key material. */
export class HandoverError<Code extends string = string> extends Error {
  override readonly name = 'HandoverError';
  readonly code: Code;
  readonly retry: Retry;
  readonly path: string | undefined;

  constructor(code: Code, message: string, options: HandoverErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    this.retry = options.retry ?? 'never';
    this.path = options.path;
  }
}
