import { EngineError } from '../../error.ts';
import type { FileReader } from './files.ts';

/** The number of a user or group by its name, from the files that every Unix has (passwd(5), group(5)). */
export const accountNumber = (files: FileReader, what: 'user' | 'group', name: string): number => {
  if (/^\d+$/.test(name)) return Number(name);
  const path = what === 'user' ? '/etc/passwd' : '/etc/group';
  const text = Buffer.from(files.read(path) ?? []).toString('utf8');
  for (const line of text.split('\n')) {
    const [known, , number] = line.split(':');
    if (known === name && number !== undefined && /^\d+$/.test(number)) return Number(number);
  }
  throw new EngineError(
    'FILES_ACCOUNT_UNKNOWN',
    `there is no ${what} ${name} in ${path}; correct the name, or give a numeric id`,
    { path },
  );
};
