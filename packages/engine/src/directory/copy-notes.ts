import { createHash } from 'node:crypto';
import { isMap } from '@handover/material';
import { type Files, replaceFile } from './files.ts';

const hex = (bytes: string | Uint8Array): string => createHash('sha256').update(bytes).digest('hex');

/**
 * What handover wrote, or was about to write, at paths outside its folders. It is noted before the file is written: the record of its
 * object is written later, and goes with the folder of the object.
 */
export class CopyNotes {
  readonly #files: Files;
  readonly #directory: string;

  constructor(files: Files, directory: string) {
    this.#files = files;
    this.#directory = directory;
  }

  /** Whether what lies at the path now is what handover wrote there. */
  isOurs(path: string): boolean {
    const digest = this.#digestAt(path);
    return digest !== undefined && this.#notedOf(path).includes(digest);
  }

  /** Before these bytes are written there. Until then what handover wrote there before still counts. */
  async note(path: string, bytes: Uint8Array): Promise<void> {
    const noted = this.#notedOf(path);
    const now = this.#digestAt(path);
    const stays = now !== undefined && noted.includes(now) ? [now] : [];
    const digests = [...new Set([...stays, hex(bytes)])];
    if (digests.join() === noted.join()) return;
    await this.#files.makeDirectory(this.#directory, 0o700);
    const text = `${JSON.stringify({ path, digests })}\n`;
    await replaceFile(this.#files, this.#directory, this.#nameOf(path), text, 0o600);
  }

  #nameOf(path: string): string {
    return `${hex(path).slice(0, 32)}.json`;
  }

  #digestAt(path: string): string | undefined {
    if (this.#files.facts(path)?.kind !== 'file') return undefined;
    const bytes = this.#files.read(path);
    return bytes === undefined ? undefined : hex(bytes);
  }

  /** A damaged note counts as none: then the file is another's. */
  #notedOf(path: string): readonly string[] {
    const bytes = this.#files.read(`${this.#directory}/${this.#nameOf(path)}`);
    if (bytes === undefined) return [];
    try {
      const value: unknown = JSON.parse(Buffer.from(bytes).toString('utf8'));
      if (!isMap(value) || value.path !== path || !Array.isArray(value.digests)) return [];
      return value.digests.filter((digest) => typeof digest === 'string');
    } catch {
      return [];
    }
  }
}
