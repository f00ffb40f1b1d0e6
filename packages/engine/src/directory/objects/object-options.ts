import type { Instant } from '@handover/material';
import type { ObjectId } from '../../snapshot/home.ts';
import type { Files, Ownership } from '../disk/files.ts';
import type { OwnUser } from '../disk/trusted-path.ts';
import type { Copy } from './copies.ts';
import type { CopyNotes } from './copy-notes.ts';

export interface ObjectOptions {
  readonly files: Files;
  /** The `out` directory. */
  readonly root: string;
  readonly now: () => Instant;
  /** Milliseconds by a clock that cannot be set: waits are counted by it. */
  readonly monotonic: () => number;
  /** Owner, group and mode of a Secret's key; the default is the owner alone. */
  readonly ownershipOf: (id: ObjectId) => Ownership;
  readonly uid: OwnUser;
  /** Whether files of others in its folder may be taken over. */
  readonly mayAdopt: (id: ObjectId) => boolean;
  /** Names of its files in other formats, as they are asked for now. */
  readonly outputsOf: (id: ObjectId) => readonly string[];
  readonly copiesOf: (id: ObjectId) => readonly Copy[];
  readonly notes: CopyNotes;
}
