import { copyFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, inject, test } from 'vitest';
import { start } from './src/run.ts';
import { cas, Files, WORLD } from './src/world.ts';

const { withPeers } = inject('installed');
const source = fileURLToPath(new URL('./consumers/promises.mjs', import.meta.url));
copyFileSync(source, join(withPeers, 'promises.mjs'));

const SECOND = 1_000;
/** In the last tenth of its life, and expired soon; certificates have whole seconds. */
const shortLeaf = () => {
  const notAfter = Math.ceil(Date.now() / SECOND + 10) * SECOND;
  return JSON.stringify(cas[0].leaf({ notBefore: notAfter - 300 * SECOND, notAfter }));
};

test('the packed runtime keeps what README promises of drains, silence, verification, arguments and events', async () => {
  const env = { ...WORLD, SHORT: shortLeaf() };
  const { folder } = new Files(withPeers);
  const ended = await start(withPeers, process.execPath, ['promises.mjs', folder], env).ended;
  expect(ended).toMatchObject({ code: 0 });
  const unverified = expect.stringMatching(/^OPTION_INVALID: .*rejectUnauthorized/);
  expect(JSON.parse(ended.stdout)).toEqual({
    drained: { seen: ['goaway', 'closed'], cut: { connections: 1, reason: 'ca_removed' } },
    verified: {
      httpsAgent: unverified,
      dispatcher: unverified,
      request: unverified,
      tlsOptions: unverified,
    },
    refused: {
      'openTrust()': expect.stringMatching(/^OPTION_INVALID: .*openTrust.* path .* got undefined/),
      'serve(httpServer)': expect.stringMatching(/^OPTION_INVALID: .*tls, https or http2/),
      'a misspelt option': expect.stringMatching(/^OPTION_INVALID: .*"pollms".*pollMs/),
      "on('reload')": expect.stringMatching(/^OPTION_INVALID: .*no event "reload".*reloaded/),
    },
    told: { token: ['at', 'loads'], kept: ['empty'] },
    unwatched: {
      watching: { EMFILE: ['poll', 'poll'], ENOSPC: ['poll', 'poll'] },
      retry: ['UNABLE_TO_VERIFY_LEAF_SIGNATURE', 'taken', 'taken'],
    },
    expired: ['expiring', 'expired'],
    // once for each reason why nothing can be watched
    warnings: ['LEAF_EXPIRED', 'LEAF_EXPIRING', 'WATCH_UNAVAILABLE', 'WATCH_UNAVAILABLE'],
  });
});
