import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { HandoverError, type Instant, instant } from '@handover/material';
import { TestClock, temporaryFolder } from '@handover/test-api-server';
import { DirectoryHome, type DirectoryOptions, type Files } from '../src/index.ts';
import { copyTree } from './copy-tree.ts';
import { dealKey, MESH } from './world.ts';

/** The same home, with its resources read anew. */
export const loaded = (home: DirectoryHome, ...given: Parameters<DirectoryHome['load']>): DirectoryHome => {
  home.load(...given);
  return home;
};

/** Directories of one test file on one clock, removed at its end. */
export class Directories {
  readonly clock = new TestClock();
  // In memory: these tests sync thousands of times, and none of them cuts the power.
  readonly #root = temporaryFolder({ inMemory: true });
  #count = 0;

  get now(): Instant {
    return this.clock.now();
  }

  /** Sets the wall clock; no timer notices. Turn `clock` to let time pass. */
  set now(now: Instant) {
    this.clock.set(now);
  }

  /** Lets time pass without a look. */
  later(ms: number): void {
    this.now = instant(this.now + ms);
  }

  make(yaml: string | undefined = MESH): string {
    const path = join(this.#root, `home-${++this.#count}`);
    mkdirSync(path, { mode: 0o755 });
    if (yaml !== undefined) writeFileSync(join(path, 'mesh.yaml'), yaml, { mode: 0o644 });
    return path;
  }

  copy(from: string): string {
    const path = join(this.#root, `home-${++this.#count}`);
    copyTree(from, path);
    return path;
  }

  home(path: string, files?: Files, options: Partial<DirectoryOptions> = {}): DirectoryHome {
    return new DirectoryHome(path, {
      timers: this.clock,
      clock: { now: () => this.now, steadySince: () => undefined },
      keys: dealKey,
      ...(files === undefined ? {} : { files }),
      ...options,
    });
  }
}

/** What a program sees that mounts `out`: every complete Secret, and every bundle. */
export const visible = (
  home: string,
): { chains: Map<string, string>; bundles: Map<string, string>; keys: Map<string, string> } => {
  const seen = {
    chains: new Map<string, string>(),
    bundles: new Map<string, string>(),
    keys: new Map<string, string>(),
  };
  for (const kind of ['secrets', 'configmaps']) {
    const root = join(home, 'out', 'default', kind);
    if (!existsSync(root)) continue;
    for (const name of readdirSync(root)) {
      for (const [file, into] of [
        ['tls.crt', seen.chains],
        ['tls.key', seen.keys],
        ['ca.crt', seen.bundles],
      ] as const) {
        const path = join(root, name, file);
        if (existsSync(path)) into.set(`${kind}/${name}`, readFileSync(path, 'utf8'));
      }
    }
  }
  return seen;
};

/** Code and message of the error that `work` throws. */
export const codeOf = async (work: () => unknown): Promise<string> => {
  try {
    await work();
  } catch (error) {
    if (error instanceof HandoverError) return `${error.code}: ${error.message}`;
    throw error;
  }
  return 'nothing was refused';
};
