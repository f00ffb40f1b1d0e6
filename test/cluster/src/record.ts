import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ProcessId } from './process-id.ts';

/** Everything that one cluster has on this machine. Its keeper writes it before and after each change. */
export interface ClusterRecord {
  /** Empty for a test's cluster; the name that `cluster up` gave it otherwise. */
  readonly name: string;
  readonly size: string;
  readonly url: string;
  readonly directory: string;
  /** Whether to remove the directory with the cluster. */
  readonly keepDirectory: boolean;
  readonly keeper: ProcessId;
  readonly processes: readonly ({ readonly name: string } & ProcessId)[];
  /** Paths to remove at the end: port reservations. */
  readonly files: readonly string[];
  /** Cgroup directories, removed at the end with what is below them. */
  readonly cgroups: readonly string[];
}

/** Writes atomically: a reader never sees half a record. */
export const writeRecord = (path: string, record: ClusterRecord): void => {
  writeFileSync(`${path}.new`, `${JSON.stringify(record, null, 2)}\n`, { mode: 0o600 });
  renameSync(`${path}.new`, path);
};

export const readRecords = (
  directory: string,
): { readonly path: string; readonly record: ClusterRecord }[] => {
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  return readdirSync(directory)
    .filter((name) => name.endsWith('.json'))
    .flatMap((name) => {
      const path = join(directory, name);
      try {
        return [{ path, record: JSON.parse(readFileSync(path, 'utf8')) as ClusterRecord }];
      } catch {
        return []; // gone in between
      }
    });
};

export const forget = (path: string): void => rmSync(path, { force: true });
