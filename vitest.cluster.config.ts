import { defineConfig } from 'vitest/config';

// npm run test:cluster: against a real Kubernetes (test/cluster). Other packages add to this tier under test/cluster/.
export default defineConfig({
  ssr: { resolve: { conditions: ['source'], externalConditions: ['source'] } },
  resolve: { conditions: ['source'] },
  test: {
    include: ['test/cluster/*.test.ts', 'packages/*/test/cluster/**/*.test.ts'],
    // Each file has a cluster of its own, which waits more than it works: two share even a small machine.
    maxWorkers: 2,
    testTimeout: 300_000,
    hookTimeout: 300_000,
  },
});
