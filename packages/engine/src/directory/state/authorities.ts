import { EngineError } from '../../error.ts';
import { formatAuthority, parseAuthority } from '../../snapshot/authority-file.ts';
import type { AuthorityId, AuthorityRecord, AuthorityWriter } from '../../snapshot/home.ts';
import type { AuthorityReader } from '../../snapshot/snapshot.ts';
import { type Files, replaceFile } from '../disk/files.ts';

/** Authorities as one file each; the file is replaced whole, and is durable before anything is derived from it. */
export class DirectoryAuthorities implements AuthorityReader, AuthorityWriter {
  readonly #files: Files;
  readonly #root: string;

  constructor(files: Files, root: string) {
    this.#files = files;
    this.#root = root;
  }

  #place(id: AuthorityId): { directory: string; name: string } {
    const [namespace, name] = id.split('/');
    return { directory: `${this.#root}/${namespace}`, name: `${name}.json` };
  }

  readonly placeOf = (id: AuthorityId): string => {
    const { directory, name } = this.#place(id);
    return `${directory}/${name}`;
  };

  async load(id: AuthorityId): Promise<AuthorityRecord | undefined> {
    const path = this.placeOf(id);
    const bytes = this.#files.read(path);
    return bytes === undefined ? undefined : parseAuthority(id, Buffer.from(bytes).toString('utf8'), path);
  }

  async swap(id: AuthorityId, expect: number | undefined, record: AuthorityRecord): Promise<void> {
    const { directory, name } = this.#place(id);
    const found = await this.load(id);
    if (found?.state.revision !== expect) {
      throw new EngineError(
        'CONFLICT',
        `authority ${id} is at revision ${found?.state.revision ?? 'none'}, not ${expect ?? 'none'}; looking again`,
        { retry: 'now', path: id },
      );
    }
    await this.#files.makeDirectory(directory, 0o700);
    await replaceFile(this.#files, directory, name, formatAuthority(id, record), 0o600);
  }

  /** A write that was cut short leaves a file with keys in it. */
  async sweep(): Promise<void> {
    for (const namespace of this.#files.list(this.#root)) {
      for (const name of this.#files.list(`${this.#root}/${namespace}`)) {
        if (name.endsWith('.tmp')) await this.#files.remove(`${this.#root}/${namespace}/${name}`);
      }
    }
  }
}
