import { execFileSync } from 'node:child_process';
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { bytesOf, second } from '@handover/material';
import { expect, test } from 'vitest';
import { Directories, loaded, visible } from '../../../test/directories.ts';
import { faultyFiles, Killed, killsAt } from '../../../test/faulty-files.ts';
import { MESH, resourcesOf } from '../../../test/world.ts';
import { converge, diskFiles, type IssuedEntry, readableCertificates } from '../../index.ts';
import { homeFileError } from '../disk/files.ts';
import { DirectoryIssuanceLog } from './issuance-log.ts';

const directories = new Directories();
const ID = 'default/mesh';

const entry = (serial: string): IssuedEntry => ({
  at: '2030-01-01T00:00:00.000Z',
  kind: 'leaf',
  authority: ID,
  generation: 1,
  serial,
  fingerprint: 'f'.repeat(64),
  subject: 'CN=a',
  dnsNames: [],
  ipAddresses: [],
  uris: [],
  usages: [],
  notBefore: '',
  notAfter: '',
  for: { kind: 'Leaf', namespace: 'default', name: 'a' },
  why: 'it does not exist yet',
});

/** Reads the log as the documents say: skips incomplete lines. */
const read = (path: string): readonly IssuedEntry[] =>
  readFileSync(path, 'utf8')
    .split('\n')
    .flatMap((line) => {
      try {
        return [JSON.parse(line) as IssuedEntry];
      } catch {
        return [];
      }
    });
const logOf = (home: string): string => join(home, 'state/log/issued.jsonl');

test('The log of a directory has one document per line, is readable by its owner only, and names the user that asked for a rotation', async () => {
  const path = directories.make();
  const home = directories.home(path);
  const lock = await home.lock();
  await converge(loaded(home), ID);
  await home.requests.ask({ authority: ID, rotate: 'q1' });
  await converge(loaded(home), ID);
  await lock.release();
  expect(statSync(logOf(path)).mode & 0o777).toBe(0o600);
  expect(statSync(join(path, 'state/log')).mode & 0o777).toBe(0o700);
  expect(read(logOf(path)).map(({ kind, generation }) => `${kind} ${generation}`)).toEqual([
    'ca 1',
    'leaf 1',
    'leaf 1',
    'ca 2',
  ]);
  const asked = { via: 'request', user: userInfo().username, uid: process.getuid?.() };
  expect(read(logOf(path)).at(-1)?.askedBy).toEqual(asked);
  const history = (await directories.home(path).authorities.load(ID))?.history;
  expect(history?.at(-1)).toMatchObject({
    step: 'mint',
    rotation: 'q1',
    askedBy: asked,
    takenBy: expect.stringMatching(`^process ${process.pid} on `),
  });
});

test('The log of a directory starts a new line after one that was cut short', async () => {
  const folder = directories.make();
  const log = new DirectoryIssuanceLog(diskFiles, folder);
  await log.issued(entry('01'));
  appendFileSync(log.path, '{"at":"2030-01-01T00:0');
  await new DirectoryIssuanceLog(diskFiles, folder).issued(entry('02'));
  expect(read(log.path).map(({ serial }) => serial)).toEqual(['01', '02']);
  expect(readFileSync(log.path, 'utf8').split('\n')).toHaveLength(4);
});

test('The log of a directory starts a new file when the current one is full, and keeps five', async () => {
  const folder = directories.make();
  const log = new DirectoryIssuanceLog(diskFiles, folder, 1_000);
  for (let number = 0; number < 60; number++) await log.issued(entry(String(number)));
  const files = readdirSync(folder)
    .filter((name) => name.startsWith('issued.'))
    .sort();
  expect(files.length).toBeLessThanOrEqual(5);
  expect(files).toEqual(expect.arrayContaining(['issued.1.jsonl', 'issued.4.jsonl']));
  for (const file of files) expect(statSync(join(folder, file)).size).toBeLessThan(1_500);
  const kept = ['issued.4', 'issued.3', 'issued.2', 'issued.1', 'issued']
    .map((name) => join(folder, `${name}.jsonl`))
    .filter(existsSync)
    .flatMap((file) => read(file).map(({ serial }) => Number(serial)));
  expect(kept).toEqual(Array.from({ length: kept.length }, (_, index) => 60 - kept.length + index));
});

test('The log of a directory has only complete lines when two processes write many at once', async () => {
  const folder = directories.make();
  const logs = [new DirectoryIssuanceLog(diskFiles, folder), new DirectoryIssuanceLog(diskFiles, folder)];
  await Promise.all(
    Array.from({ length: 200 }, (_, number) => logs[number % 2]?.issued(entry(String(number)))),
  );
  const serials = read(join(folder, 'issued.jsonl')).map(({ serial }) => Number(serial));
  expect(serials.sort((a, b) => a - b)).toEqual(Array.from({ length: 200 }, (_, number) => number));
});

test.each([
  ['ENOSPC', /the disk is full; free some space/],
  ['EROFS', /the file system is read-only/],
])(
  'The log of a directory that cannot be written because of %s is an error with a code that says what to do',
  async (code, says) => {
    const folder = directories.make();
    const refused = homeFileError(Object.assign(new Error(code), { code }), 'append to', 'the log');
    const log = new DirectoryIssuanceLog({ ...diskFiles, append: () => Promise.reject(refused) }, folder);
    await expect(log.issued(entry('01'))).rejects.toMatchObject({
      code: 'ISSUANCE_LOG_UNWRITABLE',
      message: expect.stringMatching(says),
      retry: 'later',
    });
    await expect(log.issued(entry('02'))).rejects.toMatchObject({ code: 'ISSUANCE_LOG_UNWRITABLE' });
  },
);

test('The log of a directory is not written to a pipe, which is called one', async () => {
  const path = directories.make();
  mkdirSync(join(path, 'state/log'), { recursive: true, mode: 0o700 });
  execFileSync('mkfifo', ['-m', '600', logOf(path)]);
  await expect(converge(loaded(directories.home(path)), ID)).rejects.toThrow(
    'a pipe, a socket or a device is where a file should be; move it away',
  );
});

test('The log of a directory is not written through a link, and the target of the link stays as it is', async () => {
  const path = directories.make();
  const elsewhere = join(path, 'elsewhere');
  writeFileSync(elsewhere, 'mine\n');
  mkdirSync(join(path, 'state/log'), { recursive: true, mode: 0o700 });
  rmSync(logOf(path), { force: true });
  symlinkSync(elsewhere, logOf(path));
  const home = directories.home(path);
  // Takes resources from memory: loading the directory would check all of it first, and refuse the link.
  expect(() => home.load()).toThrow('is a link to');
  await expect(converge(loaded(home, resourcesOf(MESH)), ID)).rejects.toMatchObject({
    code: 'ISSUANCE_LOG_UNWRITABLE',
  });
  expect(readFileSync(elsewhere, 'utf8')).toBe('mine\n');
  expect(await home.authorities.load(ID)).toBeUndefined();
});

test('The log of a directory has every visible certificate, before whichever operation the process was killed', async () => {
  const base = directories.make();
  const begun = directories.home(base);
  await converge(loaded(begun), ID);
  await begun.requests.ask({ authority: ID, rotate: 'q1' });
  await converge(loaded(begun), ID);
  directories.now = (directories.now + 20 * second) as typeof directories.now;
  const counting = faultyFiles(Number.POSITIVE_INFINITY);
  const whole = directories.home(directories.copy(base), counting);
  await converge(loaded(whole), ID);
  for (const at of killsAt(counting.writes(), 3)) {
    const path = directories.copy(base);
    const home = directories.home(path, faultyFiles(at));
    await expect(converge(loaded(home), ID)).rejects.toThrow(Killed);
    const known = new Set(read(logOf(path)).map(({ fingerprint }) => fingerprint));
    const { chains, bundles } = visible(path);
    const record = await directories.home(path).authorities.load(ID);
    const seen = [
      ...[...chains.values(), ...bundles.values()].flatMap((text) => readableCertificates(bytesOf(text))),
      ...(record?.certificates.values() ?? []),
    ];
    for (const { fingerprint, subject } of seen)
      if (!known.has(fingerprint)) expect.fail(`killed before ${at}: ${subject} is not in the log`);
  }
});
