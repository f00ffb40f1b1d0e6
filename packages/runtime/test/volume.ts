import {
  mkdirSync,
  mkdtempSync,
  readlinkSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A directory as the kubelet's atomic writer keeps it: visible links → `..data` → one directory per version. */
export class Volume {
  readonly dir: string;
  #count = 0;

  constructor(files: Readonly<Record<string, string | Buffer>>) {
    this.dir = mkdtempSync(join(tmpdir(), 'handover-volume-'));
    this.write(files);
  }

  path(name: string): string {
    return join(this.dir, name);
  }

  /** The whole new content, swapped in by one rename, then the old directory removed. */
  write(files: Readonly<Record<string, string | Buffer>>): void {
    const data = join(this.dir, '..data');
    const fresh = `..${Date.now()}_${this.#count++}`;
    mkdirSync(join(this.dir, fresh));
    for (const [name, content] of Object.entries(files)) writeFileSync(join(this.dir, fresh, name), content);
    let old: string | undefined;
    try {
      old = readlinkSync(data);
    } catch {}
    symlinkSync(fresh, join(this.dir, '..data_tmp'));
    renameSync(join(this.dir, '..data_tmp'), data);
    for (const name of Object.keys(files)) {
      try {
        symlinkSync(join('..data', name), join(this.dir, name));
      } catch {}
    }
    if (old !== undefined) rmSync(join(this.dir, old), { recursive: true });
  }

  remove(): void {
    rmSync(this.dir, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 }); // a process may still write
  }
}
