import type { Reporter, TestModule, Vitest } from 'vitest/node';

/** Used where CI is true: a test that was skipped fails the run, because it proves nothing. */
export class NoSkips implements Reporter {
  #filtered = false;

  onInit({ config }: Vitest): void {
    // A filter by name skips what it leaves out.
    this.#filtered = config.testNamePattern !== undefined;
  }

  onTestRunEnd(modules: readonly TestModule[]): void {
    const skipped = modules.flatMap((module) =>
      [...module.children.allTests('skipped')].map(
        ({ fullName }) => `${module.relativeModuleId}: ${fullName}`,
      ),
    );
    if (this.#filtered || skipped.length === 0) return;
    process.stderr.write(
      `\nSKIPPED_IN_CI: a skipped test proves nothing; install what it needs, or delete it:\n  ${skipped.join('\n  ')}\n`,
    );
    process.exitCode = 1;
  }
}
