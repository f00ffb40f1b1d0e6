import { join } from 'node:path';
import { temporaryFolder } from '@handover/test-api-server';
import { expect, test } from 'vitest';
import { handover } from '../../test/capture.ts';

const root = temporaryFolder({ inMemory: true });
const home = join(root, 'x');
const on = (...args: readonly string[]) => handover([...args, '--home', `dir:${home}`]);
const ID = 'envoy-gateway-system/envoy-gateway-ca';

test('commands on a directory that certgen made need the same --preset, and say so without it', async () => {
  expect(await on('certgen', '--preset', 'envoy-gateway')).toMatchObject({ code: 0 });
  const bare = await on('status');
  expect(bare).toMatchObject({ code: 1, stderr: expect.stringMatching(/^HOME_EMPTY: .*--preset or -f/) });
  const preset = ['--preset', 'envoy-gateway'];
  expect((await on('status', ...preset)).stdout).toMatch(new RegExp(`^${ID}  Stable$`, 'm'));
  expect((await on('plan', ...preset)).stdout).toContain(`${ID}: Nothing to do.`);
  expect(await on('verify', ...preset)).toMatchObject({ code: 0 });
  expect(await on('check', ...preset)).toMatchObject({ code: 0 });
  const asked = await on('distrust', ID, '--generation', '1', ...preset);
  expect(asked).toMatchObject({ code: 0, stdout: expect.stringContaining('nothing was changed; add --yes') });
  const done = await on('distrust', ID, '--generation', '1', '--yes', ...preset);
  expect(done).toMatchObject({ code: 0, stderr: '' });
  const { authorities } = JSON.parse((await on('status', '--json', ...preset)).stdout);
  expect(authorities[0].generations).toEqual(
    expect.arrayContaining([expect.objectContaining({ generation: 2, role: 'current' })]),
  );
});
