import { defineConfig } from 'vitest/config';

// npm run test:verdicts: chains of a rotation judged by other verifiers. Needs openssl, certtool, Java, Go and cargo.
export default defineConfig({
  ssr: { resolve: { conditions: ['source'], externalConditions: ['source'] } },
  resolve: { conditions: ['source'] },
  test: {
    include: ['test/verdicts/*.test.ts'],
    // vitest's own --update is about snapshots; the matrix goes by the same word.
    env: { HANDOVER_UPDATE_VERDICTS: process.argv.includes('--update') ? 'yes' : 'no' },
    // The first run builds the judges.
    hookTimeout: 600_000,
  },
});
