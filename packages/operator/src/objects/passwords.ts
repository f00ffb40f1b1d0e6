import { Password } from '@handover/core';
import type { PasswordReader } from '@handover/engine';
import { OperatorError } from '../error.ts';
import type { FoundPassword } from './followed-passwords.ts';
import type { Place } from './place.ts';

/** Passwords in Secrets of the namespace that is written to. The operator opens no file that a resource names. */
export const secretPasswords = (
  read: (place: Place) => Promise<FoundPassword | undefined>,
): PasswordReader => ({
  password: async ({ secret }, namespace) => {
    if (secret === undefined)
      throw new OperatorError(
        'PASSWORD_MISSING',
        'passwordFrom.file works in a directory; give passwordFrom.secret in Kubernetes',
      );
    const { name, key } = secret;
    const path = `${namespace}/secrets/${name}/${key}`;
    const found = await read({ plural: 'secrets', namespace, name, part: key });
    if (found?.value !== undefined) return Password.parse(found.value, path);
    throw new OperatorError(
      'PASSWORD_MISSING',
      `Secret ${namespace}/${name} ${found === undefined ? 'does not exist' : `has no key ${key}`}; write the password there`,
      { path, retry: 'later' },
    );
  },
});
