import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A directory for a test. A file in it is replaced atomically. */
export class Place {
  readonly directory = mkdtempSync(join(tmpdir(), 'handover-kube-'));

  path(name: string): string {
    return join(this.directory, name);
  }

  write(name: string, content: string, mode = 0o600): string {
    const path = this.path(name);
    writeFileSync(`${path}.new`, content, { mode });
    renameSync(`${path}.new`, path);
    return path;
  }

  remove(): void {
    rmSync(this.directory, { recursive: true, force: true });
  }
}
