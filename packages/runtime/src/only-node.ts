import { RuntimeError } from './error.ts';

type Name = 'bun' | 'deno';

/** Throws on a runtime whose own modules would ignore what we hand them. */
export function refuseOn(runtimes: readonly Name[], what: string, instead: string): void {
  for (const name of runtimes) {
    if (name in process.versions) {
      throw new RuntimeError('RUNTIME_UNSUPPORTED', `${what} does not work on ${name}; ${instead}`);
    }
  }
}
