import { join } from 'node:path';
import { instant } from '@handover/material';
import { systemClock } from '@handover/runtime/clock';
import { temporaryFolder } from '@handover/test-api-server';
import { expect, test } from 'vitest';
import { handover } from '../../test/capture.ts';
import { Service } from './service.ts';

const root = temporaryFolder({ inMemory: true });

const secretIn = async (name: string): Promise<string> => {
  const dir = join(root, name);
  await handover(['init', dir]);
  await handover(['run', dir, '--once'], { now: instant(Date.now()) });
  return join(dir, 'out/default/secrets/web');
};

test('a service of the demo accepts the right name of the right CA, and nothing else', async () => {
  const folder = await secretIn('one');
  const service = (name: string, from: string) => new Service(name, { kind: 'hot' }, from, systemClock);
  const client = service('client', folder);
  const right = service('localhost', folder);
  const misnamed = service('elsewhere', folder);
  const stranger = service('localhost', await secretIn('two'));
  const called = [right, misnamed, stranger];
  for (const other of called) await other.start();
  expect(await client.call(right)).toBeUndefined();
  expect(await client.call(misnamed)).toBe('not a certificate of elsewhere');
  expect(await client.call(stranger)).toBe('SELF_SIGNED_CERT_IN_CHAIN');
  expect(await stranger.call(right)).toBeDefined();
  for (const other of called) await other.stop();
});
