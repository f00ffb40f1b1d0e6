import { appendFileSync } from 'node:fs';
import type { Reporter, TestCase } from 'vitest/node';

/** A line of the record. */
export interface RecordedTest {
  readonly tier: string;
  readonly test: string;
  readonly ms: number;
  readonly state: string;
  /** It failed, and passed when it was tried once more. */
  readonly flaky: boolean;
}

/** Appends a line of JSON for each test: `.ci/run` tells from it which were slow and which were flaky (summary.mjs). */
export class TestRecord implements Reporter {
  readonly #path: string;

  constructor(path: string) {
    this.#path = path;
  }

  onTestCaseResult(test: TestCase): void {
    const { duration = 0, flaky = false } = test.diagnostic() ?? {};
    const line: RecordedTest = {
      tier: test.project.name,
      test: `${test.module.relativeModuleId} › ${test.fullName}`,
      ms: Math.round(duration),
      state: test.result().state,
      flaky,
    };
    appendFileSync(this.#path, `${JSON.stringify(line)}\n`);
  }
}
