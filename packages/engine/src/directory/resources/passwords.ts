import { resolve } from 'node:path';
import { Password } from '@handover/core';
import { EngineError } from '../../error.ts';
import type { PasswordReader } from '../../snapshot/outputs.ts';
import { homeFileError } from '../disk/files.ts';
import { replayPath } from '../disk/path-snapshot.ts';
import { type OwnUser, quoted, trustedPath } from '../disk/trusted-path.ts';
import type { UntrustedFiles } from '../disk/untrusted-files.ts';

const MOST_BYTES = 4_096;
const READABLE_BY_OTHERS = 0o004;

/** Passwords in files of this machine, which only root and the user we run as can change. */
export class FilePasswords implements PasswordReader {
  readonly #far: UntrustedFiles;
  readonly #base: string;
  readonly #uid: OwnUser;

  constructor(far: UntrustedFiles, base: string, uid: OwnUser) {
    this.#far = far;
    this.#base = base;
    this.#uid = uid;
  }

  async password({ file }: Parameters<PasswordReader['password']>[0]): Promise<Password> {
    if (file === undefined)
      throw new EngineError(
        'PASSWORD_MISSING',
        'passwordFrom.secret works in Kubernetes; give passwordFrom.file in a directory',
      );
    const asked = resolve(this.#base, file);
    const share = `password ${asked}`;
    const way = replayPath(await this.#far.look({ path: asked }, share));
    const path = trustedPath(way, asked, this.#uid);
    const facts = way.facts(path);
    if (facts === undefined)
      throw new EngineError(
        'PASSWORD_MISSING',
        `${asked} does not exist; write the password there, with mode 0600`,
        { path: asked, retry: 'later' },
      );
    if ((facts.mode & READABLE_BY_OTHERS) !== 0)
      throw new EngineError(
        'PASSWORD_EXPOSED',
        `${asked} holds a password, and every user can read it; chmod o-r ${quoted(asked)}, and change the password`,
        { path: asked },
      );
    try {
      const { opened } = await this.#far.look({ path, most: MOST_BYTES }, share);
      return Password.parse(opened?.bytes ?? new Uint8Array(), asked);
    } catch (error) {
      throw homeFileError(error, 'read', asked);
    }
  }
}
