import { HandoverError } from '@handover/material';

/** Runs a parser whose errors may not say which file they are about, and sees to it that they do. */
export function inFile<Result>(path: string, parse: () => Result): Result {
  try {
    return parse();
  } catch (cause) {
    if (!(cause instanceof HandoverError) || cause.path === path) throw cause;
    throw new HandoverError(cause.code, `${path}: ${cause.message}`, { path, retry: cause.retry });
  }
}

/** Told apart from a file with the wrong thing in it: an empty one is often only not written yet. */
export function mustNotBeBlank(bytes: Buffer, path: string, what: string): void {
  if (bytes.length < 1024 && bytes.toString('utf8').trim() === '') {
    throw new HandoverError('FILE_EMPTY', `${path} is empty; it should hold ${what}`, {
      path,
      retry: 'later',
    });
  }
}
