import { defineConfig } from 'vitest/config';

// npm run test:newcomer: README's first command on a fresh clone, watched in a browser. Needs a registry, and Debian's Chromium.
export default defineConfig({
  test: {
    include: ['test/newcomer/*.test.ts'],
    globalSetup: ['packages/dashboard/page/test/chromium.ts'],
    testTimeout: 600_000,
    hookTimeout: 120_000,
  },
});
