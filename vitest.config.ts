import { defineConfig } from 'vitest/config';

export default defineConfig({
  ssr: { resolve: { conditions: ['source'], externalConditions: ['source'] } },
  resolve: { conditions: ['source'] },
  test: {
    include: [
      'packages/*/src/**/*.test.ts',
      'scripts/**/*.test.mjs',
      'test/api-server/*.test.ts',
      'test/docs/src/**/*.test.ts',
    ],
    testTimeout: 120_000,
    // Its default leaves one core free, which is half of a small machine.
    maxWorkers: '100%',
    // a machine that does other work as well is no reason to fail
    hookTimeout: 120_000,
  },
});
