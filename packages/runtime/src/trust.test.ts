import { rmSync, writeFileSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { MockCa } from '../test/mock-ca.ts';
import { Volume } from '../test/volume.ts';
import { codeOf, eventually, get, httpsServer, type Listening } from '../test/world.ts';
import { openTrust } from './index.ts';

const one = new MockCa('one');
const two = new MockCa('two');
let volume: Volume;
let stop: AbortController;
let server: Awaited<ReturnType<typeof httpsServer>>;
const closing: Listening[] = [];

beforeEach(async () => {
  volume = new Volume({ 'ca.crt': one.pem });
  stop = new AbortController();
  server = await httpsServer(one);
  closing.push(server);
});

afterEach(async () => {
  stop.abort();
  for (const listening of closing.splice(0)) await listening.close();
  volume.remove();
});

const open = (options = {}) => openTrust(volume.path('ca.crt'), { signal: stop.signal, ...options });

describe('S2 over node:https', () => {
  test('1: a server that moved to CA 2 is refused until the file says CA 2, in the same process', async () => {
    const trust = await open();
    const agent = trust.httpsAgent();
    await get(server.url, { agent });
    server.use(two.leaf());
    server.server.closeIdleConnections();
    expect(await codeOf(get(server.url, { agent: trust.httpsAgent() }))).toBe(
      'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
    );
    const reloaded = new Promise((resolve) => trust.on('reloaded', resolve));
    volume.write({ 'ca.crt': two.pem });
    await reloaded;
    expect((await get(server.url, { agent })).body).toBeTruthy();
  });

  test('2: two swaps in a row are both seen', async () => {
    const trust = await open();
    const seen: string[] = [];
    trust.on('reloaded', (event) => seen.push(event.hash));
    const first = trust.hash;
    volume.write({ 'ca.crt': two.pem });
    await eventually(() => seen.length === 1);
    volume.write({ 'ca.crt': one.pem });
    await eventually(() => seen.length === 2);
    expect(seen[1]).toBe(first);
    expect(seen[0]).not.toBe(first);
  });
});
void rmSync;
void writeFileSync;
