import { readdirSync, rmdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { isAlive, signalIfAlive } from './process-id.ts';
import { type ClusterRecord, forget, readRecords } from './record.ts';

const GIVE_UP_MS = 20_000;

/** Only rmdir removes a cgroup, deepest first; its files belong to the kernel (cgroups(7)). */
const removeCgroup = (path: string): void => {
  let entries: string[];
  try {
    entries = readdirSync(path, { withFileTypes: true }).flatMap((entry) =>
      entry.isDirectory() ? [entry.name] : [],
    );
  } catch {
    return;
  }
  for (const entry of entries) removeCgroup(join(path, entry));
  rmdirSync(path);
};

/** Retries until it works: a killed process leaves its cgroup and its mounts a moment later. */
const retried = async (work: () => void): Promise<void> => {
  const deadline = Date.now() + GIVE_UP_MS;
  for (;;) {
    try {
      return work();
    } catch (error) {
      if (Date.now() > deadline) throw error;
      await sleep(20);
    }
  }
};

/** Ends the processes of a record by id, and removes their files. Namespaces, mounts and bridges end with their last process. */
export async function clearAway(record: ClusterRecord): Promise<void> {
  const processes = [...record.processes].reverse();
  for (const each of processes) signalIfAlive(each, 'SIGKILL');
  await retried(() => {
    const left = processes.find(isAlive);
    if (left !== undefined) throw new Error(`${left.name} (pid ${left.pid}) does not end; kill it by hand`);
  });
  for (const cgroup of record.cgroups) await retried(() => removeCgroup(cgroup));
  for (const file of record.files) rmSync(file, { force: true });
  if (!record.keepDirectory) await retried(() => rmSync(record.directory, { recursive: true, force: true }));
}

/** Cleans up after keepers that were killed themselves. */
export async function clearAwayOrphans(records: string): Promise<void> {
  for (const { path, record } of readRecords(records)) {
    if (isAlive(record.keeper)) continue;
    await clearAway(record);
    forget(path);
  }
}
