import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, onTestFinished, TestRunner } from 'vitest';

/** Memory is faster for programs that sync each write, but nothing can be executed there. */
const IN_MEMORY = '/dev/shm';

export interface FolderOptions {
  /** Default: where the machine keeps temporary files. */
  readonly inMemory?: boolean;
}

/** An empty folder, removed when its test is over. Asked for outside a test, it is removed when the tests of the file are over. */
export const temporaryFolder = ({ inMemory = false }: FolderOptions = {}): string => {
  const path = mkdtempSync(join(inMemory && existsSync(IN_MEMORY) ? IN_MEMORY : tmpdir(), 'handover-'));
  const remove = (): void => rmSync(path, { recursive: true, force: true });
  if (TestRunner.getCurrentTest() === undefined) afterAll(remove);
  else onTestFinished(remove);
  return path;
};
