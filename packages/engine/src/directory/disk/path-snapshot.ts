import { lstatSync } from 'node:fs';
import { HandoverError } from '@handover/material';
import { type Opened, readBounded } from '../../snapshot/read-bounded.ts';
import type { FileFacts } from './files.ts';
import { type PathReader, walkPath } from './trusted-path.ts';

/** A question about a file that another user may have put there. */
export interface PathQuery {
  /** Absolute. */
  readonly path: string;
  /** Reads the file, up to this many bytes; undefined: the way there is enough. */
  readonly most?: number | undefined;
  /** Whether the path may end in a link. Default: true. */
  readonly follow?: boolean | undefined;
}

/** A file and the way to it, as they were at one moment. */
export interface PathSnapshot {
  readonly opened?: Opened | undefined;
  /** Everything on the way, by path. */
  readonly facts: ReadonlyMap<string, FileFacts>;
  readonly targets: ReadonlyMap<string, string | undefined>;
  /** Why the way could not be followed to its end. */
  readonly trouble?: HandoverError | undefined;
  /** What lies at its end; undefined: nothing. */
  readonly last?: Pick<Opened['stat'], 'dev' | 'ino'> | undefined;
}

/** Reads the file first, then the way: a file that was replaced in between is another one than lies there. */
export const readPath = (files: PathReader, { path, most, follow = true }: PathQuery): PathSnapshot => {
  const opened = most === undefined ? undefined : readBounded(path, { most, follow });
  const facts = new Map<string, FileFacts>();
  const targets = new Map<string, string | undefined>();
  // What has been passed once is not asked for again: a check that goes the same way goes it to the same end.
  const noting: PathReader = {
    facts: (at) => {
      const found = facts.get(at) ?? files.facts(at);
      if (found !== undefined) facts.set(at, found);
      return found;
    },
    target: (at) => {
      if (!targets.has(at)) targets.set(at, files.target(at));
      return targets.get(at);
    },
  };
  try {
    const end = walkPath(noting, path);
    if (!facts.has(end)) return { opened, facts, targets };
    const { dev, ino } = lstatSync(end);
    return { opened, facts, targets, last: { dev, ino } };
  } catch (trouble) {
    if (!(trouble instanceof HandoverError)) throw trouble;
    return { opened, facts, targets, trouble };
  }
};

/** Replays the recorded path for permission checks. */
export const replayPath = ({ facts, targets, trouble }: PathSnapshot): PathReader => ({
  facts: (at) => {
    const found = facts.get(at);
    if (found === undefined && trouble !== undefined) throw trouble;
    return found;
  },
  target: (at) => targets.get(at),
});
