import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, readlink, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Files } from './case.ts';
import type { Material } from './material.ts';

const DATA = '..data';

/** The folder that a client follows. */
export class Folder {
  readonly path: string;
  readonly #material: Material;
  #version = 0;

  constructor(path: string, material: Material) {
    this.path = path;
    this.#material = material;
  }

  async make(): Promise<void> {
    await mkdir(this.path);
  }

  async remove(): Promise<void> {
    await rm(this.path, { recursive: true });
  }

  /** As the kubelet does: a new folder, a link to it renamed over `..data`, then the old folder is removed. */
  async swap(files: Files): Promise<void> {
    const version = `..${++this.#version}`;
    await mkdir(join(this.path, version));
    for (const [name, parts] of Object.entries(files))
      await writeFile(join(this.path, version, name), this.#material.texts(parts));
    const link = join(this.path, DATA);
    const before = await readlink(link).catch(() => undefined);
    await symlink(version, `${link}_tmp`);
    await rename(`${link}_tmp`, link);
    for (const name of Object.keys(files)) {
      if (!existsSync(join(this.path, name))) await symlink(join(DATA, name), join(this.path, name));
    }
    if (before !== undefined) await rm(join(this.path, before), { recursive: true });
  }

  /** Each file whole, one after the other. */
  async rename(files: Files): Promise<void> {
    for (const [name, parts] of Object.entries(files)) {
      const path = join(this.path, name);
      await writeFile(`${path}.new`, this.#material.texts(parts));
      await rename(`${path}.new`, path);
    }
  }

  /** In place: a reader can meet a part of it. */
  async write(files: Files): Promise<void> {
    for (const [name, parts] of Object.entries(files))
      await writeFile(join(this.path, name), this.#material.texts(parts));
  }

  async pipe(name: string): Promise<void> {
    const path = join(this.path, name);
    await promisify(execFile)('mkfifo', [`${path}.new`]);
    await rename(`${path}.new`, path);
  }
}
