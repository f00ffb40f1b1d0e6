import { hostname, userInfo } from 'node:os';
import type { Asker } from '../ledger/issued-entry.ts';

/** The user of this process; an account without a name has its number only. */
export const userHere = (): Pick<Asker, 'user' | 'uid'> => {
  const uid = process.getuid?.();
  const number = uid === undefined ? {} : { uid };
  try {
    return { user: userInfo().username, ...number };
  } catch {
    return number;
  }
};

/** This process, for histories. */
export const processHere = (): string => `process ${process.pid} on ${hostname()}`;
