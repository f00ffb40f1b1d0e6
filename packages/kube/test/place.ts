import { renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryFolder } from '@handover/test-api-server';

/** A directory for a test. A file in it is replaced atomically. */
export class Place {
  readonly directory = temporaryFolder();

  path(name: string): string {
    return join(this.directory, name);
  }

  write(name: string, content: string, mode = 0o600): string {
    const path = this.path(name);
    writeFileSync(`${path}.new`, content, { mode });
    renameSync(`${path}.new`, path);
    return path;
  }
}
