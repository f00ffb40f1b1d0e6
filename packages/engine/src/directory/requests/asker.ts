import { hostname, userInfo } from 'node:os';
import type { Asker } from '../../ledger/issued-entry.ts';

/** The user of this process; only the uid for an account without a name. */
export const userHere = (): Pick<Asker, 'user' | 'uid'> => {
  const uid = process.getuid?.();
  const number = uid === undefined ? {} : { uid };
  try {
    return { user: userInfo().username, ...number };
  } catch {
    return number;
  }
};

/** This process as histories name it. */
export const processHere = (): string => `process ${process.pid} on ${hostname()}`;
