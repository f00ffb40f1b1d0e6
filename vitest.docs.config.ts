import { defineConfig } from 'vitest/config';

// npm run test:docs: every command of every document. Needs a build, and what its documents need: Debian's nginx and PostgreSQL, which
// root installs, and for clusters what test/cluster needs. One document: npm run test:docs -- -t start.md
export default defineConfig({
  ssr: { resolve: { conditions: ['source'], externalConditions: ['source'] } },
  resolve: { conditions: ['source'] },
  test: {
    include: ['test/docs/*.test.ts'],
    globalSetup: ['packages/cli/test/examples/programs.ts'],
    testTimeout: 900_000,
    hookTimeout: 120_000,
  },
});
