import {
  chmodSync,
  chownSync,
  linkSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { temporaryFolder } from '@handover/test-api-server';
import { describe, expect, test } from 'vitest';
import { Directories, loaded } from '../../../test/directories.ts';
import { statusText } from '../../../test/status-text.ts';
import { MESH } from '../../../test/world.ts';
import { converge, type DirectoryHome } from '../../index.ts';

const directories = new Directories();
const scratch = temporaryFolder();
chmodSync(scratch, 0o755);
const SERVICE = 65_534;
const THIRD = 1_234;
const isRoot = process.getuid?.() === 0;

let count = 0;
const folder = (mode = 0o755): string => {
  const path = join(scratch, `f${++count}`);
  mkdirSync(path);
  chmodSync(path, mode);
  return path;
};

const homeAsking = async (status: string, files = ''): Promise<{ home: DirectoryHome; text: string }> => {
  const consumer = `{name: app, presents: true, verifies: true, leaf: a, status: {${status}}}`;
  const path = directories.make(
    MESH.replace('{lifetime: 1y,', `{lifetime: 1y, consumers: [${consumer}],`).replace(
      'dnsNames: [a.local]',
      `dnsNames: [a.local]${files}`,
    ),
  );
  const home = directories.home(path);
  await converge(loaded(home), 'default/mesh');
  const held = (name: string) => readFileSync(join(path, 'out/default/secrets/a', name), 'utf8');
  return { home, text: statusText(held('ca.crt'), held('tls.crt'), directories.now) };
};

/** What the consumer shows with its document at `file`; `believed`, or why it is not. */
const shownBy = async (file: string, prepare: () => void, files = ''): Promise<string> => {
  const { home, text } = await homeAsking(`file: ${file}`, files);
  writeFileSync(file, text, { mode: 0o644 });
  prepare();
  return shown(home);
};
const shown = async (home: DirectoryHome): Promise<string> => {
  const { observation } = await converge(home, 'default/mesh');
  const [instance] = observation.seen.consumers.find(({ id }) => id === 'app')?.instances ?? [];
  return (instance?.proofs.length ?? 0) > 0 ? 'believed' : (instance?.unread?.trust ?? 'nothing was read');
};

test('A status document in a file that only we can write is evidence, also behind a folder that is a link and in a sticky folder', async () => {
  const place = folder();
  expect(await shownBy(join(place, 's.json'), () => {})).toBe('believed');
  symlinkSync(place, join(scratch, 'link'));
  expect(await shownBy(join(scratch, 'link/s.json'), () => {})).toBe('believed');
  expect(await shownBy(join(folder(0o1777), 's.json'), () => {})).toBe('believed');
});

test.each([0o666, 0o664, 0o646])(
  'A status document in a file with mode %o is no evidence, and the remedy is named',
  async (mode) => {
    const file = join(folder(), 's.json');
    expect(await shownBy(file, () => chmodSync(file, mode))).toBe(
      `no status document from ${file}: status file ${file} is writable by others; chmod go-w ${file}`,
    );
    chmodSync(file, 0o644);
  },
);

test('A status document in a file in a folder that others can write is no evidence, and the folder is named', async () => {
  const place = folder();
  const file = join(place, 's.json');
  expect(await shownBy(file, () => chmodSync(place, 0o777))).toBe(
    `no status document from ${file}: status file ${file} could have been put there by another user: ${place} can be changed by other users (mode 0777); chmod go-w ${place}, and check the contents`,
  );
});

test('A status document in a file with a second hard link, or behind a link, is no evidence', async () => {
  const file = join(folder(), 's.json');
  expect(await shownBy(file, () => linkSync(file, `${file}.other`))).toContain('has a second hard link');
  const other = join(folder(), 's.json');
  const moved = await shownBy(other, () => {
    renameSync(other, `${other}.moved`);
    symlinkSync(`${other}.moved`, other);
  });
  expect(moved).toBe(
    `no status document from ${other}: status file ${other} is a link; set status.file to the file itself`,
  );
});

test('A status document in a file that is too large, or a folder, is refused in words', async () => {
  const file = join(folder(), 's.json');
  const large = await shownBy(file, () => writeFileSync(file, ' '.repeat(70_000)));
  expect(large).toBe(`no status document from ${file}: ${file} is over 64 KiB; a small file is wanted there`);
  const other = join(folder(), 's.json');
  const odd = await shownBy(other, () => {
    rmSync(other);
    mkdirSync(other);
  });
  expect(odd).toBe(`no status document from ${other}: ${other} is a directory; a small file is wanted there`);
});

test('A status document in a file at a relative path lies in the directory of the resources', async () => {
  const { home, text } = await homeAsking('file: status.json');
  writeFileSync(join(home.path, 'status.json'), text, { mode: 0o644 });
  expect(await shown(home)).toBe('believed');
});

describe.skipIf(!isRoot)('A status document of another user (needs root, to play both)', () => {
  test('A status document of another user is evidence in a folder that root gave that user', async () => {
    const place = folder();
    const file = join(place, 's.json');
    const given = await shownBy(file, () => {
      for (const made of [place, file]) chownSync(made, SERVICE, SERVICE);
    });
    expect(given).toBe('believed');
    const alone = join(folder(), 's.json');
    expect(await shownBy(alone, () => chownSync(alone, SERVICE, SERVICE))).toBe('believed');
  });

  test('A status document of another user is no evidence in a folder of all users, unless its Leaf names that user', async () => {
    const place = folder(0o1777);
    const file = join(place, 's.json');
    expect(await shownBy(file, () => chownSync(file, SERVICE, SERVICE))).toBe(
      `no status document from ${file}: status file ${file} could have been put there by another user: it belongs to user ${SERVICE}, and every user can create files in ${place}; use a folder that only root or that user can write, or set spec.files.owner of the Leaf`,
    );
    const owned = join(folder(0o1777), 's.json');
    const files = `, files: {owner: "${SERVICE}"}`;
    expect(await shownBy(owned, () => chownSync(owned, SERVICE, SERVICE), files)).toBe('believed');
    const third = join(folder(0o1777), 's.json');
    expect(await shownBy(third, () => chownSync(third, THIRD, THIRD), files)).toContain(
      'belongs to user 1234',
    );
  });

  test('A status document of another user is asked at no socket that another user could have put there', async () => {
    const place = folder(0o1777);
    const socket = join(place, 's.sock');
    const { home, text } = await homeAsking(`socket: ${socket}`);
    const server = createServer((_, response) => response.end(text));
    await new Promise<void>((listening) => server.listen(socket, listening));
    chmodSync(socket, 0o777); // every user may connect
    expect(await shown(home)).toBe('believed');
    // Before it answers, another socket is put in its place.
    server.prependOnceListener('request', () => {
      renameSync(socket, `${socket}.old`);
      writeFileSync(socket, '');
    });
    expect(await shown(home)).toContain('the socket was replaced while it answered');
    rmSync(socket);
    expect(await shown(home)).toContain(`status socket ${socket} cannot be read: no such file`);
    renameSync(`${socket}.old`, socket);
    chownSync(socket, SERVICE, SERVICE);
    expect(await shown(home)).toContain(
      `status socket ${socket} could have been put there by another user: it belongs to user ${SERVICE}`,
    );
    await new Promise((closed) => server.close(closed));
  });
});
