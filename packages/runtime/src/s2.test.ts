// Against: node:https, undici, fetch, gRPC, @kubernetes/client-node and inCluster().
import { mkdirSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryFolder } from '@handover/test-api-server';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { ADAPTERS, type Client, EVERY_CLIENT } from '../test/adapters.ts';
import { MockCa } from '../test/mock-ca.ts';
import { Volume } from '../test/volume.ts';
import { eventually, ok, type Target, UNKNOWN_AUTHORITY, wordsOf } from '../test/world.ts';
import * as files from './files/read-files.ts';
import { inCluster } from './kubernetes.ts';

vi.mock('./files/read-files.ts', { spy: true });

const one = new MockCa('one');
const two = new MockCa('two');
/** Each client gives up a connection after some seconds. A hundred at once are in trust.test.ts and s2-serve.test.ts. */
const AT_ONCE = 25;
/** As in a pod: the token is beside the bundle. */
const content = (bundle: string) => ({ 'ca.crt': bundle, token: 'token' });

describe.each(EVERY_CLIENT)('S2 over $name', (adapter) => {
  let volume: Volume;
  let stop: AbortController;
  let target: Target;
  let client: Client;
  const closing: Target[] = [];

  const serve = async (ca: MockCa): Promise<Target> => {
    const started = await adapter.serve(ca);
    closing.push(started);
    return started;
  };

  beforeEach(async () => {
    volume = new Volume(content(one.pem));
    stop = new AbortController();
    target = await serve(one);
    client = await adapter.open(volume.path('ca.crt'), { signal: stop.signal });
    await client.get(target);
  });

  afterEach(async () => {
    stop.abort();
    for (const started of closing.splice(0)) await started.close();
    volume.remove();
  });

  /** However it connects, it is refused. */
  const refused = () =>
    eventually(async () => {
      target.cut();
      return UNKNOWN_AUTHORITY.test(await wordsOf(client.get(target)));
    });

  const moveTo = async (ca: MockCa) => {
    target.use(ca.leaf());
    await refused();
  };

  // 1 and 2: s2-watch.test.ts
  test('4: a deleted, empty, unreadable or wrong file changes nothing; a good one is picked up afterwards', async () => {
    const key = one.leaf().key;
    for (const bundle of ['', 'no certificate at all', key]) {
      volume.write(content(bundle));
      target.cut();
      await eventually(() => ok(client.get(target)));
    }
    volume.write({});
    target.cut();
    await eventually(() => ok(client.get(target)));
    await moveTo(two);
    volume.write(content(two.pem));
    await eventually(() => ok(client.get(target)));
  });

  test.each([
    ['missing', undefined],
    ['no certificate at all', 'hello'],
  ])('5: a first load of a file that is %s is an error with its path', async (_, bundle) => {
    const first = new Volume(bundle === undefined ? { token: 'token' } : content(bundle));
    const path = first.path('ca.crt');
    const asked = adapter.open(path, { signal: stop.signal }).then((opened) => opened.get(target));
    expect(await wordsOf(asked)).toContain(path);
    first.remove();
  });

  test('6: with both CAs both servers are accepted; without CA 1 its server is refused, resumption included', async () => {
    volume.write(content(two.pem + one.pem));
    const second = await serve(two);
    await eventually(() => ok(client.get(second)));
    for (let i = 0; i < 3; i++) {
      target.cut(); // each time a new connection, the later ones resumed
      await eventually(() => ok(client.get(target)));
    }
    volume.write(content(two.pem));
    await refused();
    for (let i = 0; i < 3; i++) expect(await wordsOf(client.get(target))).toMatch(UNKNOWN_AUTHORITY);
    await client.get(second);
  });

  test('7: a stream under way at the swap goes on to its end', async () => {
    const stream = await client.stream(target);
    await eventually(() => stream.count() > 3);
    volume.write(content(two.pem));
    await eventually(async () => !(await ok(client.get(target))));
    const before = stream.count();
    await eventually(() => stream.count() > before + 3);
    target.endStreams();
    await stream.ended;
  });

  test('8: the same bytes written again leave the connection pool alone', async () => {
    await Promise.all(Array.from({ length: 5 }, () => client.get(target)));
    await client.get(target);
    const before = target.handshakes();
    volume.write(content(one.pem));
    volume.write(content(`# a comment\n${one.pem}`));
    for (let i = 0; i < 20; i++) {
      await client.get(target);
      await new Promise((tick) => setTimeout(tick, 5));
    }
    expect(target.handshakes()).toBe(before);
  });

  /** A client whose file changes unseen: a directory above the watched one is replaced, and the poll is a minute away. */
  const unseeing = async () => {
    const root = temporaryFolder();
    for (const [name, ca] of [
      ['now', one],
      ['next', two],
    ] as const) {
      mkdirSync(join(root, name, 'deep'), { recursive: true });
      for (const [file, text] of Object.entries(content(ca.pem)))
        writeFileSync(join(root, name, 'deep', file), text);
    }
    const file = join(root, 'now', 'deep', 'ca.crt');
    const opened = await adapter.open(file, { signal: stop.signal });
    return {
      file,
      get: (of: Target) => opened.get(of),
      getAnew: (of: Target) => (opened.getAnew ?? opened.get)(of),
      change: () => {
        renameSync(join(root, 'now'), join(root, 'old'));
        renameSync(join(root, 'next'), join(root, 'now'));
      },
    };
  };

  test('3: handshakes at the moment of a reload cost one read together, and all succeed', async () => {
    const late = await unseeing();
    await late.getAnew(target);
    await moveTo(two);
    late.change();
    const reads = () =>
      vi.mocked(files.readAll).mock.calls.filter(([paths]) => JSON.stringify(paths).includes(late.file));
    const before = reads().length;
    expect(before).toBeGreaterThan(0);
    const handshakes = target.handshakes();
    await Promise.all(Array.from({ length: AT_ONCE }, () => late.getAnew(target)));
    expect(target.handshakes() - handshakes).toBeGreaterThanOrEqual(AT_ONCE);
    expect(reads().length - before).toBe(1);
  });

  test('10: an unknown authority forces one reload, and the request that met it succeeds', async () => {
    const late = await unseeing();
    await late.get(target);
    const second = await serve(two);
    late.change();
    await late.get(second);
  });
});

test.each(ADAPTERS)('S2.9: without verification $name reads no file', async (adapter) => {
  const stop = new AbortController();
  const target = await adapter.serve(one);
  const careless = await adapter.open('/nowhere/ca.crt', { signal: stop.signal, verify: false });
  await careless.get(target);
  stop.abort();
  await target.close();
});

test('S2.9: inCluster() always verifies, and refuses an option that would turn it off', async () => {
  const env = { KUBERNETES_SERVICE_HOST: 'localhost', KUBERNETES_SERVICE_PORT: '1' };
  const volume = new Volume(content(one.pem));
  for (const option of [{ verify: false }, { rejectUnauthorized: false }])
    await expect(inCluster({ directory: volume.dir, env, ...option } as object)).rejects.toMatchObject({
      code: 'OPTION_INVALID',
    });
  volume.remove();
});
