import { HandoverError } from '@handover/material';
import { RuntimeError } from '../error.ts';

/** Runs a parser and adds the file's path to its errors. */
export function inFile<Result>(path: string, parse: () => Result): Result {
  try {
    return parse();
  } catch (cause) {
    if (!(cause instanceof HandoverError) || cause.path === path) throw cause;
    throw new RuntimeError(cause.code, `${path}: ${cause.message}`, { path, retry: cause.retry });
  }
}

/** An empty file has a code of its own, because it is often only not written yet. */
export function mustNotBeBlank(bytes: Buffer, path: string, what: string): void {
  if (bytes.length < 1024 && bytes.toString('utf8').trim() === '') {
    throw new RuntimeError('FILE_EMPTY', `${path} is empty; it should hold ${what}`, {
      path,
      retry: 'later',
    });
  }
}
