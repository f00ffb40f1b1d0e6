import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, beforeEach } from 'vitest';
import { bundleRuntime } from './bundle.ts';
import { Scope } from './fixture.ts';

export interface BesideRuntime {
  /** Holds the package as one file for each entry, and the programs. Any user may read it. */
  readonly dir: string;
  /** Of the present test. */
  readonly scope: Scope;
}

/** A file's tests of programs that import the package, or run under it: these programs, by their file names. */
export const besideRuntime = (programs: Readonly<Record<string, string>> = {}): BesideRuntime => {
  let dir = '';
  let scope: Scope | undefined;
  beforeAll(async () => {
    ({ dir } = await bundleRuntime());
    chmodSync(dir, 0o755);
    for (const [name, text] of Object.entries(programs)) writeFileSync(join(dir, name), text);
  });
  beforeEach(() => {
    scope = new Scope();
  });
  return {
    get dir() {
      return dir;
    },
    get scope() {
      if (scope === undefined) throw new TypeError('there is no scope before the first test');
      return scope;
    },
  };
};
