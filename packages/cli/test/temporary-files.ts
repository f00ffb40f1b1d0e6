import { temporaryFolder } from '@handover/test-api-server';
import { onTestFinished, vi } from 'vitest';

/** A folder in which this process makes its temporary files for the rest of the test: other tests make theirs elsewhere. */
export const temporaryFilesHere = (): string => {
  const folder = temporaryFolder();
  vi.stubEnv('TMPDIR', folder);
  onTestFinished(() => void vi.unstubAllEnvs());
  return folder;
};
