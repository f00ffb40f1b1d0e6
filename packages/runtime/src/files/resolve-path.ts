import { readlink } from 'node:fs/promises';
import { dirname, isAbsolute, join, resolve } from 'node:path';
import { fileError, RuntimeError } from '../error.ts';

/** Kind of a watched name: a link changes in one step, a file may be read half-written. */
export type Watched = 'link' | 'file';

/** Directories that were not links when last read. The caller decides how long to keep them. */
export type KnownDirectories = Set<string>;

/** Linux follows at most 40 links in one path: path_resolution(7). */
const MAX_LINKS = 40;

/**
 * Follows symbolic links and reads each link once. All files resolved by one instance therefore go through the same
 * `..data`: a certificate cannot come with the key of another version. `watch` holds every directory whose names decided
 * the result, also after a failure.
 */
export class PathResolver {
  readonly watch = new Map<string, Map<string, Watched>>();
  readonly #known: KnownDirectories;
  readonly #links = new Map<string, Promise<string | undefined>>();

  constructor(known: KnownDirectories = new Set()) {
    this.#known = known;
  }

  async resolve(path: string): Promise<string> {
    const rest = resolve(path).split('/').filter(Boolean);
    let at = '/';
    let links = 0;
    /** The kubelet never changes a directory behind `..data`, so it needs no watch. */
    let sealed = false;
    for (let name = rest.shift(); name !== undefined; name = rest.shift()) {
      if (name === '.' || name === '') continue;
      if (name === '..') {
        at = dirname(at);
        continue;
      }
      const full = join(at, name);
      let target: string | undefined;
      try {
        target = rest.length > 0 && this.#known.has(full) ? undefined : await this.#target(full);
      } catch (cause) {
        this.#note(at, name, 'link');
        throw fileError(path, cause);
      }
      if (target === undefined) {
        if (rest.length > 0) {
          if (!sealed) this.#known.add(full);
        } else if (!sealed) {
          this.#note(at, name, 'file');
        }
        at = full;
        continue;
      }
      this.#note(at, name, 'link');
      sealed = name === '..data' && !target.includes('/');
      if (++links > MAX_LINKS) {
        throw new RuntimeError(
          'FILE_LINK_LOOP',
          `${path} leads through more than ${MAX_LINKS} links; break the loop`,
          {
            path,
          },
        );
      }
      rest.unshift(...target.split('/'));
      if (isAbsolute(target)) at = '/';
    }
    return at;
  }

  #note(directory: string, name: string, kind: Watched): void {
    const names = this.watch.get(directory) ?? new Map<string, Watched>();
    names.set(name, kind);
    this.watch.set(directory, names);
  }

  #target(path: string): Promise<string | undefined> {
    const known = this.#links.get(path);
    if (known !== undefined) return known;
    const read = readlink(path).catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'EINVAL') return undefined; // not a link
      throw error;
    });
    this.#links.set(path, read);
    return read;
  }
}
