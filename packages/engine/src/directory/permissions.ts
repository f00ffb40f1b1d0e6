import { HandoverError } from '@handover/material';
import type { FileReader } from './files.ts';

/**
 * Reload hooks run from this directory, and trust is read from it: whoever may write here is as good as we are. Links are
 * not followed: their owner decides where they lead.
 */
export function refuseWritableByOthers(files: FileReader, directory: string, uid: number | undefined): void {
  const yaml = files.list(directory).filter((name) => /\.ya?ml$/.test(name));
  for (const path of [directory, ...['out', 'state', ...yaml].map((name) => `${directory}/${name}`)]) {
    const facts = files.facts(path);
    if (facts === undefined || facts.kind === 'link') continue;
    if ((facts.mode & 0o022) !== 0) {
      throw new HandoverError(
        'HOME_WRITABLE_BY_OTHERS',
        `${path} may be written by others (mode ${facts.mode.toString(8).padStart(4, '0')}); chmod go-w it, and look at what is in it`,
        { path },
      );
    }
    if (uid !== undefined && uid !== 0 && facts.uid !== uid && facts.uid !== 0) {
      throw new HandoverError(
        'HOME_FOREIGN_OWNER',
        `${path} belongs to user ${facts.uid}; run as that user, or chown it`,
        { path },
      );
    }
  }
  const state = files.facts(`${directory}/state`);
  if (state !== undefined && (state.mode & 0o077) !== 0) {
    throw new HandoverError(
      'HOME_STATE_EXPOSED',
      `${directory}/state holds keys and may be read by others; chmod 0700 it, and replace the keys if somebody could`,
      { path: `${directory}/state` },
    );
  }
}
