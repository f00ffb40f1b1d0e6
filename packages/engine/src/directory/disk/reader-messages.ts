import { HandoverError } from '@handover/material';
import { EngineError, type EngineErrorCode } from '../../error.ts';
import type { PathQuery, PathSnapshot } from './path-snapshot.ts';

/** What a process that reads files is asked. */
export type Question =
  | { readonly look: PathQuery; readonly document?: undefined }
  | { readonly look?: undefined; readonly document: string };

/** An error on its way between two processes, where it would lose its class and its code. */
interface SerializedError {
  readonly ours: boolean;
  readonly name: string;
  readonly code: string | undefined;
  readonly message: string;
  readonly path: string | undefined;
  readonly retry: HandoverError['retry'] | undefined;
}

export type Answer =
  | { readonly seen: Omit<PathSnapshot, 'trouble'>; readonly trouble?: SerializedError }
  | { readonly document: string }
  | { readonly failed: SerializedError };

export const serializeError = (error: unknown): SerializedError => {
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

export const deserializeError = ({ ours, name, code, message, path, retry }: SerializedError): Error => {
  if (!ours) return Object.assign(new Error(message), { name, code });
  return new EngineError(code as EngineErrorCode, message, {
    ...(path === undefined ? {} : { path }),
    ...(retry === undefined ? {} : { retry }),
  });
};
