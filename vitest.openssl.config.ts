import { defineConfig } from 'vitest/config';

// npm run test:openssl: chain verdicts against `openssl verify` and real handshakes, and what `tls check` sees of `openssl s_server`.
// Needs the openssl command.
export default defineConfig({
  ssr: { resolve: { conditions: ['source'], externalConditions: ['source'] } },
  resolve: { conditions: ['source'] },
  test: {
    include: ['packages/{core,material,cli}/test/openssl/**/*.test.ts'],
    fileParallelism: false,
    testTimeout: 600_000,
  },
});
