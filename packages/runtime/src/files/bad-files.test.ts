import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, readdirSync, rmSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { beforeEach, describe, expect, test } from 'vitest';
import { files, next, Scope } from '../../test/fixture.ts';
import { MockCa } from '../../test/mock-ca.ts';
import { eventually } from '../../test/world.ts';
import { openIdentity, openTlsProfile, openToken, openTrust } from '../index.ts';

const one = new MockCa('one');
let scope: Scope;

beforeEach(() => {
  scope = new Scope();
});

const BAD: [what: string, code: string, make: (path: string) => unknown][] = [
  [
    'huge',
    'FILE_TOO_LARGE',
    (path) => {
      writeFileSync(path, '');
      truncateSync(path, 5 * 2 ** 30);
    },
  ],
  ['a directory', 'FILE_NOT_REGULAR', (path) => mkdirSync(path)],
  ['a FIFO', 'FILE_NOT_REGULAR', (path) => execFileSync('mkfifo', [path])],
  ['a device', 'FILE_NOT_REGULAR', (path) => symlinkSync('/dev/zero', path)],
  ['a link to itself', 'FILE_LINK_LOOP', (path) => symlinkSync(path, path)],
  [
    'a loop of links',
    'FILE_LINK_LOOP',
    (path) => {
      symlinkSync(`${path}.b`, path);
      symlinkSync(path, `${path}.b`);
    },
  ],
  ['a link to nowhere', 'FILE_MISSING', (path) => symlinkSync('/nowhere/at/all', path)],
  ['below a file', 'FILE_MISSING', (path) => symlinkSync('/etc/hostname/ca.crt', path)],
];
describe.each(BAD)('A file that is %s', (what, code, make) => {
  const openers = {
    trust: (path: string) => openTrust(path, { signal: scope.signal }),
    identity: (path: string) => openIdentity({ cert: path, key: path }, { signal: scope.signal }),
    token: (path: string) => openToken(path, { signal: scope.signal }),
    profile: (path: string) => openTlsProfile(path, { signal: scope.signal }),
  };

  test(`a file that is ${what} is a coded error with the path at the first load`, async () => {
    const path = scope.volume({}).path('file');
    make(path);
    for (const open of Object.values(openers)) {
      await expect(open(path)).rejects.toMatchObject({ name: 'HandoverError', code, path });
    }
  });

  test(`a file that becomes ${what} keeps the last good material in use`, async () => {
    const path = scope.volume({}).path('file');
    writeFileSync(path, one.pem);
    const trust = await openTrust(path, { signal: scope.signal });
    const kept = next(trust, 'kept');
    rmSync(path);
    make(path);
    await kept;
    expect(await trust.reload()).toMatchObject({ reason: 'read_error', error: { code } });
    expect(trust.pem).toBe(one.pem);
    rmSync(path, { recursive: true, force: true });
    rmSync(`${path}.b`, { force: true });
    const back = next(trust, 'reloaded');
    writeFileSync(path, new MockCa('two').pem);
    await back;
  });
});

test('a file that is not ours to read is FILE_FORBIDDEN, and the last good material stays', async () => {
  const path = scope.volume({}).path('file');
  writeFileSync(path, one.pem);
  const trust = await openTrust(path, { signal: scope.signal });
  trust.on('kept', () => undefined);
  chmodSync(path, 0);
  // Root may read everything, so the test runs as another user.
  const isRoot = process.geteuid?.() === 0;
  if (isRoot) process.seteuid?.(65534);
  try {
    await expect(openTrust(path)).rejects.toMatchObject({ code: 'FILE_FORBIDDEN' });
    expect(await trust.reload()).toMatchObject({ reason: 'read_error', error: { code: 'FILE_FORBIDDEN' } });
  } finally {
    if (isRoot) process.seteuid?.(0);
  }
  expect(trust.pem).toBe(one.pem);
});

test('a file that gives more than it says is cut off at the bound', async () => {
  // a file of the kernel's: regular, of size 0, and full
  const path = '/proc/self/smaps';
  await expect(openToken(path)).rejects.toMatchObject({ code: 'FILE_TOO_LARGE', path });
});

test('a unix socket in the place of a file is refused, not opened', async () => {
  const path = scope.volume({}).path('socket');
  const server = createServer().listen(path);
  await new Promise((listening) => server.once('listening', listening));
  scope.after(() => server.close());
  await expect(openTrust(path)).rejects.toMatchObject({ code: 'FILE_NOT_REGULAR', path });
});

/** Ten thousand take 15 s: `npm run test:tiers` asks for them. */
const RELOADS = Number(process.env.HANDOVER_RELOADS ?? 1_000);

test(`${RELOADS} reloads, good and bad, leave as many descriptors open as one`, {
  timeout: 120_000,
}, async () => {
  const two = new MockCa('two');
  const volume = scope.volume(files(one.leaf(), one));
  const trust = await openTrust(volume.path('ca.crt'), { signal: scope.signal });
  trust.on('kept', () => undefined);
  const contents = [one.pem, two.pem, '', 'text', one.pem + two.pem].map((ca) => ({ 'ca.crt': ca }));
  const descriptors = () => readdirSync('/proc/self/fd').length;
  const turn = async (times: number) => {
    for (let i = 0; i < times; i++) {
      // every tenth time the file changes, else it is only read again
      if (i % 10 === 0) volume.write(contents[(i / 10) % contents.length] ?? {});
      await trust.reload();
    }
  };
  await turn(100);
  const before = descriptors();
  await turn(RELOADS);
  // An event of the last change may cause one more read, which ends; what is left behind stays.
  await eventually(() => descriptors() <= before);
});
