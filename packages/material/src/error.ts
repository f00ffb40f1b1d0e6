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

/** Tells errors by their code, where only codes of `Code` compile: `isCode = codeCheck<KubeErrorCode>()`. */
export const codeCheck =
  <Code extends string>() =>
  (error: unknown, ...codes: readonly NoInfer<Code>[]): error is HandoverError<Code> =>
    error instanceof HandoverError && codes.includes(error.code);

export type MaterialErrorCode =
  | 'BUNDLE_EMPTY'
  | 'CERTIFICATE_MALFORMED'
  | 'KEY_AMBIGUOUS'
  | 'KEY_ENCRYPTED'
  | 'KEY_LABEL_REFUSED'
  | 'KEY_MALFORMED'
  | 'KEY_MISSING'
  | 'KEY_NOT_PRIVATE'
  | 'PEM_BAD_BASE64'
  | 'PEM_BAD_BOUNDARY'
  | 'PEM_BINARY'
  | 'PEM_LABEL_REFUSED'
  | 'PEM_NO_CERTIFICATE'
  | 'PEM_PRIVATE_KEY_IN_BUNDLE'
  | 'PEM_TOO_LARGE'
  | 'PEM_TRUNCATED'
  | 'SIGNING_REQUEST_REFUSED'
  | 'TLS_PROFILE_CUSTOM_EMPTY'
  | 'TLS_PROFILE_INVALID'
  | 'TLS_PROFILE_NO_CIPHER'
  | 'TLS_PROFILE_NO_GROUP'
  | 'TLS_PROFILE_UNKNOWN_TYPE'
  | 'TLS_PROFILE_UNKNOWN_VERSION';

/** HandoverError with the codes of this package: another code does not compile. */
export const MaterialError = HandoverError<MaterialErrorCode>;
