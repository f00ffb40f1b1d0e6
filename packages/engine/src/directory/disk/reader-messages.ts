import { HandoverError } from '@handover/material';
import { EngineError, type EngineErrorCode } from '../../error.ts';
import type { PathAsk, SeenPath } from './seen-path.ts';

/** What a process that reads files is asked. */
export type Asked =
  | { readonly look: PathAsk; readonly document?: undefined }
  | { readonly look?: undefined; readonly document: string };

/** An error on its way between two processes, where it would lose its class and its code. */
interface ErrorParts {
  readonly ours: boolean;
  readonly name: string;
  readonly code: string | undefined;
  readonly message: string;
  readonly path: string | undefined;
  readonly retry: HandoverError['retry'] | undefined;
}

export type Answer =
  | { readonly seen: Omit<SeenPath, 'trouble'>; readonly trouble?: ErrorParts }
  | { readonly document: string }
  | { readonly failed: ErrorParts };

export const inParts = (error: unknown): ErrorParts => {
  const { name, code, message } = error as NodeJS.ErrnoException;
  const ours = error instanceof HandoverError;
  return {
    ours,
    name,
    code,
    message,
    path: ours ? error.path : undefined,
    retry: ours ? error.retry : undefined,
  };
};

export const whole = ({ ours, name, code, message, path, retry }: ErrorParts): Error => {
  if (!ours) return Object.assign(new Error(message), { name, code });
  return new EngineError(code as EngineErrorCode, message, {
    ...(path === undefined ? {} : { path }),
    ...(retry === undefined ? {} : { retry }),
  });
};
