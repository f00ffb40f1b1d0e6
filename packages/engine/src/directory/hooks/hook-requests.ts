import { randomBytes } from 'node:crypto';
import { type Files, replaceFile } from '../disk/files.ts';

/** Hooks that people asked to run again, one file each. The file goes when the hook has ended. */
export class HookRequests {
  readonly #files: Files;
  readonly root: string;

  constructor(files: Files, root: string) {
    this.#files = files;
    this.root = root;
  }

  async ask(hook: string): Promise<string> {
    await this.#files.makeDirectory(this.root, 0o700);
    const name = `${randomBytes(8).toString('hex')}.json`;
    await replaceFile(this.#files, this.root, name, `${JSON.stringify({ hook })}\n`, 0o600);
    return name;
  }

  isPending(request: string): boolean {
    return this.#files.facts(`${this.root}/${request}`) !== undefined;
  }

  async remove(request: string): Promise<void> {
    await this.#files.remove(`${this.root}/${request}`);
  }

  /** Requests by hook. */
  pending(): ReadonlyMap<string, readonly string[]> {
    const found = new Map<string, readonly string[]>();
    for (const name of this.#files.list(this.root)) {
      if (!name.endsWith('.json') || name.startsWith('.')) continue;
      const hook = this.#hookIn(name);
      if (hook !== undefined) found.set(hook, [...(found.get(hook) ?? []), name]);
    }
    return found;
  }

  #hookIn(name: string): string | undefined {
    const bytes = this.#files.read(`${this.root}/${name}`);
    try {
      const value = JSON.parse(Buffer.from(bytes ?? []).toString('utf8')) as { hook?: unknown };
      return typeof value?.hook === 'string' ? value.hook : undefined;
    } catch {
      return undefined; // not whole: no command waits for it
    }
  }
}
