/** System errors in words, some with what to do: a bare code tells most people nothing. */
const WORDS: Readonly<Record<string, string>> = {
  EACCES: 'permission denied',
  ECONNREFUSED: 'connection refused',
  ECONNRESET: 'the connection broke off',
  EHOSTUNREACH: 'no route to that host',
  ELOOP: 'links lead in a circle',
  ENOENT: 'no such file',
  ENOEXEC: 'it is no program of this machine',
  ENOTFOUND: 'no host has that name',
  EPERM: 'not permitted',
  EPIPE: 'the connection broke off',
  ESRCH: 'no such process',
  ETIMEDOUT: 'no answer',
  HPE_HEADER_OVERFLOW: 'its header is too large',
};

const REMEDIES: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'start the program, or correct the address',
  EHOSTUNREACH: 'correct the address',
  ELOOP: 'correct the links',
  ENOTFOUND: 'correct the name',
};

/** Why a call failed: words, the code, and what to do where that is clear. */
export const inWords = (error: unknown): string => {
  if (!(error instanceof Error)) return String(error);
  const code = 'code' in error ? String(error.code) : '';
  if (code === '') return error.message;
  const remedy = REMEDIES[code];
  return `${WORDS[code] ?? error.message} (${code})${remedy === undefined ? '' : `; ${remedy}`}`;
};

/** A URL for people: what follows `?` may be a password. */
export const urlInWords = (url: string): string => url.replace(/[?#].*$/s, '');
