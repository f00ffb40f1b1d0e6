import { defineConfig } from 'vitest/config';

// npm run test:browser: the dashboard in a real Chromium. Needs a build, and Debian's package of the browser; as root it installs it.
export default defineConfig({
  ssr: { resolve: { conditions: ['source'], externalConditions: ['source'] } },
  resolve: { conditions: ['source'] },
  test: {
    include: ['packages/dashboard/page/test/**/*.test.ts'],
    globalSetup: ['packages/dashboard/page/test/chromium.ts'],
    fileParallelism: false,
    testTimeout: 300_000,
    hookTimeout: 120_000,
  },
});
