import { defineConfig } from 'vitest/config';

// npm run test:rotation: rotations under load in a whole cluster, pods included (test/cluster). Needs root; takes a while.
export default defineConfig({
  ssr: { resolve: { conditions: ['source'], externalConditions: ['source'] } },
  resolve: { conditions: ['source'] },
  test: {
    include: ['packages/operator/test/rotation/**/*.test.ts'],
    // Each file has a cluster of its own, which fills a small machine.
    fileParallelism: false,
    testTimeout: 1_800_000,
    hookTimeout: 600_000,
  },
});
