import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished, TestRunner } from 'vitest';

/** Memory is faster for programs that sync each write, but nothing can be executed there. */
const IN_MEMORY = '/dev/shm';

// A program that was just killed may still write.
const REMOVING = { recursive: true, force: true, maxRetries: 20, retryDelay: 50 } as const;

// Not a variable of this module: the set-up of a tier may have loaded it from the sources, and a test from dist.
const shared = globalThis as { handoverFolders?: string[] };

export interface FolderOptions {
  /** Default: where the machine keeps temporary files. */
  readonly inMemory?: boolean;
}

/**
 * An empty folder, removed when its test is over. Asked for outside a test, `beforeAll` included, or in a test that runs beside others, it is
 * removed after the file's last hook.
 */
export const temporaryFolder = ({ inMemory = false }: FolderOptions = {}): string => {
  const path = mkdtempSync(join(inMemory && existsSync(IN_MEMORY) ? IN_MEMORY : tmpdir(), 'handover-'));
  const test = TestRunner.getCurrentTest();
  // Of tests that run side by side vitest knows only which began last: that one may end before the test that asked.
  if (test !== undefined && test.concurrent !== true) onTestFinished(() => rmSync(path, REMOVING));
  else {
    // Not by `afterAll`: vitest ignores it once the tests run.
    shared.handoverFolders ??= [];
    shared.handoverFolders.push(path);
  }
  return path;
};

/** Removes the folders that were asked for outside a test. The set-up of every tier calls it (scripts/ci/end-programs.ts). */
export const removeFolders = (): void => {
  for (const path of shared.handoverFolders?.splice(0) ?? []) rmSync(path, REMOVING);
};
