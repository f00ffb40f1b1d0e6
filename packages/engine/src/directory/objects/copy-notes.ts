import { createHash } from 'node:crypto';
import { basename } from 'node:path';
import { isMap } from '@handover/material';
import { type Files, replaceFile } from '../disk/files.ts';

const hex = (bytes: string | Uint8Array): string => createHash('sha256').update(bytes).digest('hex');

/** Files kept of one path; a program that fights for it must not fill the disk. */
const MOST_KEPT = 8;

/**
 * What handover wrote, or was about to write, at paths outside its folders. It is noted before the file is written: the record of its
 * object is written later, and goes with the folder of the object.
 */
export class CopyNotes {
  readonly #files: Files;
  readonly #directory: string;
  readonly #kept = new Map<string, string>();

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
    await replaceFile(this.#files, this.#directory, this.#fileName(path), text, 0o600);
  }

  /** Keeps what another program put at the path, before it is replaced. */
  async keep(path: string): Promise<void> {
    const bytes = this.#files.facts(path)?.kind === 'file' ? this.#files.read(path) : undefined;
    if (bytes === undefined || this.isOurs(path)) return;
    const directory = `${this.#directory}/replaced`;
    const start = `${hex(path).slice(0, 16)}-`;
    const name = `${start}${hex(bytes).slice(0, 16)}-${basename(path)}`;
    const there = this.#files.list(directory).filter((other) => other.startsWith(start));
    if (!there.includes(name)) {
      if (there.length >= MOST_KEPT) return;
      const temporary = `${directory}/.${name}.tmp`;
      await this.#files.makeDirectory(directory, 0o700);
      await this.#files.remove(temporary);
      await this.#files.create(temporary, bytes, { mode: 0o600 });
      await this.#files.rename(temporary, `${directory}/${name}`);
      await this.#files.sync(directory);
    }
    this.#kept.set(path, `${directory}/${name}`);
  }

  /** Files of other programs that were at these paths, told once: "PATH is kept as PATH". */
  takeKept(paths: readonly string[]): readonly string[] {
    return paths.flatMap((path) => {
      const kept = this.#kept.get(path);
      this.#kept.delete(path);
      return kept === undefined ? [] : [`${path} is kept as ${kept}`];
    });
  }

  #fileName(path: string): string {
    return `${hex(path).slice(0, 32)}.json`;
  }

  #digestAt(path: string): string | undefined {
    if (this.#files.facts(path)?.kind !== 'file') return undefined;
    const bytes = this.#files.read(path);
    return bytes === undefined ? undefined : hex(bytes);
  }

  /** A damaged note counts as none: then the file is another's. */
  #notedOf(path: string): readonly string[] {
    const bytes = this.#files.read(`${this.#directory}/${this.#fileName(path)}`);
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
