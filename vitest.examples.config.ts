import { defineConfig } from 'vitest/config';

// npm run test:examples: examples/ with the real programs, and a home of 1,000 leaves. Needs a build, and Debian's packages of the
// programs; as root it installs them.
export default defineConfig({
  ssr: { resolve: { conditions: ['source'], externalConditions: ['source'] } },
  resolve: { conditions: ['source'] },
  test: {
    include: ['packages/cli/test/examples/**/*.test.ts', 'packages/engine/test/large/**/*.test.ts'],
    globalSetup: ['packages/cli/test/examples/programs.ts'],
    fileParallelism: false,
    testTimeout: 300_000,
  },
});
