import { Password } from '@handover/core';
import type { PasswordReader } from '@handover/engine';
import { OperatorError } from '../error.ts';
import type { Source } from './fresh.ts';

/** Passwords in Secrets of the namespace that is written to. The operator opens no file that a resource names. */
export const secretPasswords = (source: Source): PasswordReader => ({
  password: async ({ secret }, namespace) => {
    if (secret === undefined)
      throw new OperatorError(
        'PASSWORD_MISSING',
        'passwordFrom.file works in a directory; give passwordFrom.secret in Kubernetes',
      );
    const { name, key } = secret;
    const path = `${namespace}/secrets/${name}/${key}`;
    const held = await source.held({ plural: 'secrets', namespace, name, part: key });
    const bytes = held?.data[key];
    if (bytes !== undefined) return Password.parse(bytes, path);
    throw new OperatorError(
      'PASSWORD_MISSING',
      `Secret ${namespace}/${name} ${held === undefined ? 'does not exist' : `has no key ${key}`}; write the password there`,
      { path, retry: 'later' },
    );
  },
});
