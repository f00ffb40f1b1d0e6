import { defineConfig } from 'vitest/config';

// npm run test:pack: the two published packages, packed and installed as their users have them. Needs a registry for other Nodes.
export default defineConfig({
  test: {
    include: ['test/pack/*.test.ts'],
    globalSetup: ['test/pack/src/install.ts'],
    fileParallelism: false,
    testTimeout: 300_000,
    hookTimeout: 300_000,
  },
});
