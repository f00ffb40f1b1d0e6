import { type FSWatcher, statSync, watch } from 'node:fs';
import { basename } from 'node:path';
import type { Watched } from './resolve-path.ts';

interface Armed {
  readonly watcher: FSWatcher;
  readonly identity: string;
  names: ReadonlyMap<string, Watched>;
}

/** Includes the birth time: a directory that is removed and made again often gets the same inode number. */
function identityOf(directory: string): string | undefined {
  try {
    const stats = statSync(directory, { bigint: true });
    return `${stats.dev}:${stats.ino}:${stats.birthtimeNs}`;
  } catch {
    return undefined;
  }
}

/**
 * Watches directories, never files: a watch on a file follows its inode and goes silent at the first `..data` swap. Never
 * holds the process open.
 */
export class DirectoryWatches {
  readonly #armed = new Map<string, Armed>();
  readonly #changed: (kind: Watched) => void;
  #failure: NodeJS.ErrnoException | undefined;

  constructor(changed: (kind: Watched) => void) {
    this.#changed = changed;
  }

  /** Watches exactly these names. True if a watch was added: earlier reads may then be stale. */
  arm(wanted: ReadonlyMap<string, ReadonlyMap<string, Watched>>): boolean {
    let added = false;
    this.#failure = undefined;
    for (const [directory, armed] of this.#armed) {
      if (!wanted.has(directory) || armed.identity !== identityOf(directory)) {
        armed.watcher.close();
        this.#armed.delete(directory);
      }
    }
    for (const [directory, names] of wanted) {
      const armed = this.#armed.get(directory);
      if (armed !== undefined) armed.names = names;
      else if (this.#add(directory, names)) added = true;
    }
    return added;
  }

  /** Why a directory could not be watched at the last try: then only the poll covers it. */
  get failure(): NodeJS.ErrnoException | undefined {
    return this.#failure;
  }

  close(): void {
    for (const { watcher } of this.#armed.values()) watcher.close();
    this.#armed.clear();
  }

  #add(directory: string, names: ReadonlyMap<string, Watched>): boolean {
    const identity = identityOf(directory);
    if (identity === undefined) return false;
    let watcher: FSWatcher;
    try {
      watcher = watch(directory, { persistent: false });
    } catch (error) {
      this.#failure = error as NodeJS.ErrnoException;
      return false;
    }
    const armed: Armed = { watcher, identity, names };
    this.#armed.set(directory, armed);
    const self = basename(directory);
    const lost = () => {
      watcher.close();
      if (this.#armed.get(directory) === armed) this.#armed.delete(directory);
      this.#changed('link');
    };
    watcher.on('change', (_event, raw) => {
      const name = raw?.toString();
      const kind = name === undefined ? 'link' : armed.names.get(name);
      if (kind !== undefined) this.#changed(kind);
      // The directory itself was moved or removed: inotify reports its own last name.
      else if (name === self) lost();
    });
    watcher.on('error', lost);
    return true;
  }
}
