import { execFileSync, spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { systemClock } from '@handover/runtime/clock';
import { canHang, type HungFileSystem, hungFileSystem, temporaryFolder } from '@handover/test-api-server';
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { replayPath } from './path-snapshot.ts';
import { SubprocessReader } from './subprocess-reader.ts';
import { trustedPath } from './trusted-path.ts';
import { inProcessFiles, type UntrustedFiles } from './untrusted-files.ts';

const READER = new URL('../../../dist/directory/disk/file-reader.js', import.meta.url);
const scratch = temporaryFolder();
chmodSync(scratch, 0o755);
/** The reader is a process of its own, which runs from dist. */
beforeAll(() => {
  const path = (relative: string): string => fileURLToPath(new URL(relative, import.meta.url));
  const tsc = path('../../../../../node_modules/typescript/bin/tsc');
  expect(spawnSync(process.execPath, [tsc, '-b', path('../../..')]).status).toBe(0);
}, 120_000);

const at = (name: string): string => join(scratch, name);
const file = (name: string, text = name): string => {
  writeFileSync(at(name), text, { mode: 0o644 });
  return at(name);
};
const textOf = async (far: UntrustedFiles, path: string, share = 'test'): Promise<string> => {
  const { opened } = await far.look({ path, most: 100, follow: false }, share);
  return Buffer.from(opened?.bytes ?? []).toString();
};
const failure = async (work: Promise<unknown>): Promise<string> => {
  try {
    return `no failure: ${JSON.stringify(await work)}`;
  } catch (error) {
    const { name, code, message } = error as NodeJS.ErrnoException;
    return `${name} ${code} ${message}`;
  }
};

describe.each([
  ['in this process', () => inProcessFiles(systemClock)],
  ['in a process of its own', () => new SubprocessReader(READER)],
])('Read %s, a path', (where, make) => {
  const far = make();

  test(`a path to a file, read ${where}, has its bytes, and the facts of everything on the way`, async () => {
    const path = file('plain', 'text');
    const link = at(`way ${where}`);
    symlinkSync(scratch, link);
    const seen = await far.look({ path: join(link, 'plain'), most: 100, follow: false }, 'test');
    expect(Buffer.from(seen.opened?.bytes ?? []).toString()).toBe('text');
    expect(seen.opened?.stat).toMatchObject({ nlink: 1, uid: process.getuid?.(), ...seen.last });
    expect(trustedPath(replayPath(seen), join(link, 'plain'), process.getuid?.())).toBe(path);
    expect(replayPath(seen).facts(link)?.kind).toBe('link');
    expect(replayPath(seen).facts('/')?.kind).toBe('directory');
  });

  test(`a path to something else than a small file, read ${where}, fails in the same words`, async () => {
    if (where === 'in this process') execFileSync('mkfifo', [at('fifo')]);
    symlinkSync(file('target'), at(`link ${where}`));
    const ask = (path: string, most = 100) => failure(far.look({ path, most, follow: false }, 'test'));
    expect(await ask(at('none'))).toMatch(/^Error ENOENT ENOENT: no such file/);
    expect(await ask(at(`link ${where}`))).toMatch(/^Error ELOOP /);
    expect(await ask(at('fifo'))).toBe(
      `HandoverError HOME_MALFORMED ${at('fifo')} is a FIFO; a small file is wanted there`,
    );
    expect(await ask(file('large', 'x'.repeat(2_000)), 1_024)).toMatch(/ is over 1 KiB; /);
  });

  test(`a path that does not exist, read ${where}, has no end, and one that goes in a circle says so when it is checked`, async () => {
    expect((await far.look({ path: at('none') }, 'test')).last).toBeUndefined();
    symlinkSync(at(`circle ${where}`), at(`circle ${where}`));
    const seen = await far.look({ path: at(`circle ${where}`) }, 'test');
    expect(() => trustedPath(replayPath(seen), at(`circle ${where}`), undefined)).toThrow(/form a loop/);
  });

  test(`a path of a socket, read ${where}, is asked for its document`, async () => {
    mkdirSync(at('run'), { recursive: true });
    const socket = at('run/s');
    const server = createServer((request, response) => response.end(request.url)).listen(socket);
    onTestFinished(() => void server.close());
    expect(await far.document(socket, 'test')).toBe('/handover/status');
    expect(await failure(far.document(at('run/none'), 'test'))).toMatch(/^Error ENOENT /);
  });
});

test('sockets that accept and say nothing fail at once the next time, so that the next socket is asked', async () => {
  const far = new SubprocessReader(READER);
  onTestFinished(() => far.stop());
  mkdirSync(at('quiet'), { recursive: true });
  const quiet = Array.from({ length: 8 }, (_, index) => at(`quiet/${index}`));
  for (const path of quiet) {
    const server = createServer(() => {}).listen(path);
    onTestFinished(() => {
      server.closeAllConnections();
      server.close();
    });
  }
  const answers = createServer((_, response) => response.end('here')).listen(at('quiet/answers'));
  onTestFinished(() => void answers.close());
  const round = (): Promise<readonly string[]> =>
    Promise.all(
      [...quiet, at('quiet/answers')].map((path) =>
        far.document(path, 'one').catch((error: Error) => error.message),
      ),
    );
  expect((await round()).at(-1)).toMatch(
    /timed out in the queue after 10 s, because files before it did not answer/,
  );
  const began = performance.now();
  expect((await round()).at(-1)).toBe('here');
  expect(performance.now() - began).toBeLessThan(10_000);
}, 60_000);

/** Processes that read for this one, but for those that did before. */
const readersSince = (before: readonly number[]): readonly number[] =>
  readers().filter((pid) => !before.includes(pid));
const readers = (): readonly number[] =>
  readFileSync(`/proc/self/task/${process.pid}/children`, 'utf8')
    .split(' ')
    .filter((pid) => pid !== '')
    .filter((pid) => {
      try {
        return readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes('file-reader');
      } catch {
        return false;
      }
    })
    .map(Number);

describe.skipIf(!canHang)('On a file system that does not answer (needs root and FUSE)', () => {
  const hung = (options: Parameters<typeof hungFileSystem>[0] = {}): HungFileSystem => {
    const made = hungFileSystem(options);
    onTestFinished(() => made.end());
    return made;
  };
  const silentAt = (path: string): string =>
    `HandoverError FILE_NO_ANSWER ${path} did not answer within 2 s; is its file system there?`;

  test('a file on a hung file system is given up after two seconds, and other files are read meanwhile', async () => {
    const { path } = hung();
    const far = new SubprocessReader(READER);
    const good = file('good');
    // Both readers run before the two seconds begin: a busy machine may need longer to start one.
    await Promise.all([textOf(far, good), textOf(far, file('other'), 'bad')]);
    const began = performance.now();
    const bad = failure(far.look({ path: join(path, 'status.json'), most: 100, follow: false }, 'bad'));
    expect(await Promise.race([bad, textOf(far, good)])).toBe('good');
    expect(await bad).toBe(silentAt(join(path, 'status.json')));
    // A timer counts from the turn of the loop that it was set in, which began earlier.
    expect(performance.now() - began).toBeGreaterThan(1_500);
    expect(await textOf(far, good)).toBe('good');
  }, 60_000);

  test('forty files on a hung file system take at most four readers, and files that answer do not wait for them', async () => {
    const { path } = hung();
    const far = new SubprocessReader(READER);
    const before = readers();
    const good = file('quick');
    await textOf(far, good);
    const paths = Array.from({ length: 40 }, (_, index) => join(path, `${index}`));
    const bad = paths.map((each, index) => failure(far.look({ path: each }, `share ${index % 2}`)));
    for (let index = 0; index < 20; index++) expect(await textOf(far, good)).toBe('quick');
    expect(readersSince(before).length).toBeLessThanOrEqual(4);
    // Most wait behind five others of their share, and are not asked any more.
    const said = await Promise.all(bad);
    const unasked = (path: string): string =>
      `HandoverError FILE_NO_ANSWER ${path} timed out in the queue after 10 s, because files before it did not answer; it will be asked again`;
    expect(said).toEqual(
      paths.map((each, index) => (said[index] === silentAt(each) ? silentAt(each) : unasked(each))),
    );
    expect(said.filter((each, index) => each === silentAt(paths[index] ?? '')).length).toBeGreaterThan(0);
    expect(said.filter((each, index) => each === unasked(paths[index] ?? '')).length).toBeGreaterThan(20);
  }, 60_000);

  test('readers on a hung file system that not even SIGKILL ends are few: one at most for each path, and the process goes on', async () => {
    const made = hung({ takes: true });
    const before = readers();
    const far = new SubprocessReader(READER);
    const good = file('better');
    const ask = (name: string) => failure(far.look({ path: join(made.path, name) }, name));
    expect(await ask('one')).toBe(silentAt(join(made.path, 'one')));
    const [stuck] = readersSince(before);
    // proc(5): it waits, and no signal is delivered.
    const state = (): string => readFileSync(`/proc/${stuck}/stat`, 'utf8');
    await expect.poll(state, { timeout: 5_000 }).toMatch(/\) D /);
    // Not asked again: it fails at once.
    const began = performance.now();
    expect(await ask('one')).toBe(silentAt(join(made.path, 'one')));
    expect(performance.now() - began).toBeLessThan(1_500);
    expect(await textOf(far, good)).toBe('better');
    await Promise.all(Array.from({ length: 11 }, (_, index) => ask(`more ${index}`)));
    expect(readersSince(before).length).toBeLessThanOrEqual(8 + 4);
    made.end();
    // Answered with an error, they end, and what was refused because of them is read again.
    await expect.poll(() => failure(textOf(far, good)), { timeout: 10_000 }).toBe('no failure: "better"');
  }, 120_000);
});
