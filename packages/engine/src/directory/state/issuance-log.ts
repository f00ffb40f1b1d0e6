import { HandoverError } from '@handover/material';
import { EngineError } from '../../error.ts';
import type { IssuanceLog, IssuedEntry } from '../../ledger/issued-entry.ts';
import type { Files } from '../disk/files.ts';

const NAME = 'issued.jsonl';
/** About 20,000 certificates per file, and at most five files. */
const MOST_LOG_BYTES = 10 * 1024 * 1024;
const OLDER_FILES = 4;

/**
 * Every issued certificate, one JSON document per line. The entry is on disk before its certificate is visible: a crash in
 * between leaves an entry without a certificate, never the reverse.
 */
export class DirectoryIssuanceLog implements IssuanceLog {
  readonly #files: Files;
  readonly #directory: string;
  readonly #most: number;
  #waiting: { line: string; resolve: () => void; reject: (error: unknown) => void }[] = [];
  #busy = false;

  constructor(files: Files, directory: string, most = MOST_LOG_BYTES) {
    this.#files = files;
    this.#directory = directory;
    this.#most = most;
  }

  get path(): string {
    return `${this.#directory}/${NAME}`;
  }

  issued(entry: IssuedEntry): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ line: `${JSON.stringify(entry)}\n`, resolve, reject });
      if (!this.#busy) void this.#write();
    });
  }

  /** One write and one sync for all entries that arrived during the last write. */
  async #write(): Promise<void> {
    this.#busy = true;
    while (this.#waiting.length > 0) {
      const batch = this.#waiting;
      this.#waiting = [];
      try {
        await this.#append(batch.map(({ line }) => line).join(''));
        for (const { resolve } of batch) resolve();
      } catch (error) {
        for (const { reject } of batch)
          reject(error instanceof HandoverError ? unwritable(this.path, error) : error);
      }
    }
    this.#busy = false;
  }

  async #append(lines: string): Promise<void> {
    const files = this.#files;
    if (files.facts(this.path) === undefined) await files.makeDirectory(this.#directory, 0o700);
    const { size } = await files.append(this.path, lines, 0o600);
    const isNew = size === Buffer.byteLength(lines);
    if (size >= this.#most) await this.#turnOver();
    if (isNew || size >= this.#most) await files.sync(this.#directory);
  }

  /** Renames issued.jsonl to issued.1.jsonl, and so on; drops the oldest. */
  async #turnOver(): Promise<void> {
    const older = (age: number): string => `${this.#directory}/issued.${age}.jsonl`;
    for (let age = OLDER_FILES - 1; age >= 1; age--)
      if (this.#files.facts(older(age)) !== undefined) await this.#files.rename(older(age), older(age + 1));
    await this.#files.rename(this.path, older(1));
  }
}

const unwritable = (path: string, cause: HandoverError): HandoverError =>
  new EngineError(
    'ISSUANCE_LOG_UNWRITABLE',
    `no certificate was issued, because the issuance log could not be written: ${cause.message}`,
    { path, retry: 'later', cause },
  );
