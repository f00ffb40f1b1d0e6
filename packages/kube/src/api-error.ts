import { HandoverError, type Retry } from '@handover/material';
import { KubeError, type KubeErrorCode } from './error.ts';

/** `Status` of `meta/v1`: the API's own description of a failure, as far as it is used here. */
export interface ApiStatus {
  readonly status?: string;
  readonly message?: string;
  readonly reason?: string;
  readonly code?: number;
  readonly details?: {
    readonly name?: string;
    readonly kind?: string;
    readonly retryAfterSeconds?: number;
    readonly causes?: readonly {
      readonly reason?: string;
      readonly field?: string;
      readonly message?: string;
    }[];
  };
}

interface Meaning {
  readonly code: KubeErrorCode;
  readonly retry: Retry;
  readonly advice: string;
}

/** By the API's reason: https://github.com/kubernetes/apimachinery, meta/v1 StatusReason. */
const REASONS = {
  AlreadyExists: { code: 'KUBE_ALREADY_EXISTS', retry: 'now', advice: 'read it and decide again' },
  BadRequest: { code: 'KUBE_BAD_REQUEST', retry: 'never', advice: 'correct the request' },
  Conflict: { code: 'KUBE_CONFLICT', retry: 'now', advice: 'read it again and decide again' },
  Expired: { code: 'KUBE_GONE', retry: 'now', advice: 'list again' },
  Forbidden: { code: 'KUBE_FORBIDDEN', retry: 'never', advice: 'grant the permission (RBAC)' },
  Gone: { code: 'KUBE_GONE', retry: 'now', advice: 'list again' },
  InternalError: { code: 'KUBE_INTERNAL', retry: 'later', advice: 'see the log of the API server' },
  Invalid: { code: 'KUBE_INVALID', retry: 'never', advice: 'correct the object' },
  MethodNotAllowed: { code: 'KUBE_METHOD_NOT_ALLOWED', retry: 'never', advice: 'use another verb' },
  NotAcceptable: { code: 'KUBE_NOT_ACCEPTABLE', retry: 'never', advice: 'use another format' },
  NotFound: { code: 'KUBE_NOT_FOUND', retry: 'never', advice: 'create it first' },
  RequestEntityTooLarge: { code: 'KUBE_TOO_LARGE', retry: 'never', advice: 'send a smaller object' },
  ServerTimeout: { code: 'KUBE_TIMEOUT', retry: 'later', advice: 'try again' },
  ServiceUnavailable: { code: 'KUBE_UNAVAILABLE', retry: 'later', advice: 'try again' },
  Timeout: { code: 'KUBE_TIMEOUT', retry: 'later', advice: 'try again' },
  TooManyRequests: { code: 'KUBE_TOO_MANY_REQUESTS', retry: 'later', advice: 'send fewer requests' },
  Unauthorized: { code: 'KUBE_UNAUTHORIZED', retry: 'later', advice: 'check the credentials' },
  UnsupportedMediaType: { code: 'KUBE_BAD_REQUEST', retry: 'never', advice: 'use another patch type' },
} as const satisfies Record<string, Meaning>;

const REASON_OF_STATUS: Readonly<Record<number, keyof typeof REASONS>> = {
  400: 'BadRequest',
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'NotFound',
  405: 'MethodNotAllowed',
  406: 'NotAcceptable',
  409: 'Conflict',
  410: 'Gone',
  413: 'RequestEntityTooLarge',
  415: 'UnsupportedMediaType',
  422: 'Invalid',
  429: 'TooManyRequests',
  500: 'InternalError',
  502: 'ServiceUnavailable',
  503: 'ServiceUnavailable',
  504: 'Timeout',
};

const MAX_MESSAGE = 400;

/** One short line without anything that could be a key, a token or a Secret's value. */
const harmless = (text: string): string =>
  text
    .replace(/-----BEGIN [\s\S]*?(?:-----END [^-]*-----|$)/g, '[pem]')
    .replace(/[A-Za-z0-9+/_=.-]{48,}/g, '[…]')
    .replace(/\s+/g, ' ')
    .trim()
    .slice(0, MAX_MESSAGE);

/** The API's message may quote values: for a Secret, only the names of the fields are used. */
function wordsOf(status: ApiStatus, about: string): string {
  const causes = status.details?.causes ?? [];
  if (/(^|\/)secrets(\/|$)/.test(about) && status.reason === 'Invalid') {
    return causes.map(({ field, reason }) => `${field ?? 'a field'} (${reason ?? 'invalid'})`).join(', ');
  }
  return status.message ?? '';
}

/** The error for an HTTP status, with or without a `Status` body. */
export function apiError(http: number, body: ApiStatus, about: string): HandoverError {
  const given = body.reason ?? '';
  const known: Meaning | undefined = Object.hasOwn(REASONS, given)
    ? REASONS[given as keyof typeof REASONS]
    : undefined;
  const fallback = REASON_OF_STATUS[http] ?? (http >= 500 ? 'InternalError' : 'BadRequest');
  const { code, retry, advice } = known ?? REASONS[fallback];
  const words = harmless(wordsOf(body, about)) || `HTTP ${http}`;
  const { reason, details } = body;
  return new KubeError(code, `${about}: ${words}; ${advice}`, {
    retry,
    path: about,
    cause: { status: http, reason: reason ?? fallback, details },
  });
}

/** The HTTP status and the API's reason of an error that the API sent. */
export function apiCause(error: unknown): { readonly status: number; readonly reason: string } | undefined {
  const cause = (error as { cause?: { status?: unknown; reason?: unknown } } | undefined)?.cause;
  return typeof cause?.status === 'number' && typeof cause.reason === 'string'
    ? { status: cause.status, reason: cause.reason }
    : undefined;
}

/** The server did not answer, or the connection broke. */
export function unreachable(about: string, cause: unknown): Error {
  if (cause instanceof HandoverError) return cause;
  const { code, message } = cause as { code?: unknown; message?: unknown };
  // Errors of sockets, TLS and undici have a code. A TypeError without one is a bug.
  if (cause instanceof TypeError && code === undefined) return cause;
  const words = harmless([code, message].filter((part) => typeof part === 'string').join(' '));
  return new KubeError(
    'KUBE_UNAVAILABLE',
    `${about}: ${words || 'no answer'}; check that the API server runs and that the config has its CA`,
    { retry: 'later', path: about, cause },
  );
}

export const timedOut = (about: string, ms: number): HandoverError =>
  new KubeError('KUBE_TIMEOUT', `${about}: no answer within ${ms} ms; try again`, {
    retry: 'later',
    path: about,
  });

export const aborted = (about: string, cause: unknown): HandoverError =>
  cause instanceof HandoverError
    ? cause
    : new KubeError('KUBE_ABORTED', `${about}: stopped by its caller`, { path: about, cause });

export const tooLarge = (about: string, limit: number): HandoverError =>
  new KubeError(
    'KUBE_TOO_LARGE',
    `${about}: the answer is larger than ${limit} bytes; ask for fewer objects at once`,
    {
      path: about,
    },
  );
