import { execFileSync } from 'node:child_process';
import {
  chownSync,
  closeSync,
  existsSync,
  ftruncateSync,
  mkdirSync,
  openSync,
  readFileSync,
  symlinkSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { DirectoryHome } from '@handover/engine';
import { systemClock } from '@handover/runtime/clock';
import { canHang, hungFileSystem } from '@handover/test-api-server';
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { authority, homeWith, leaf, shell } from '../test/home.ts';
import {
  build,
  eventually,
  folder,
  isRoot,
  NOBODY,
  type Running,
  SOON_MS,
  start,
} from '../test/real-process.ts';

beforeAll(build, 120_000);

/** A directory with an authority whose program misbehaves, and one that has nothing to do with it. */
const besideGood = (...bad: readonly string[]): string => homeWith(...bad, authority('good'), leaf('good'));

/** Everything that is not a small file, made at a path. */
const HOSTS: Readonly<Record<string, (path: string) => void>> = {
  'a FIFO': (path) => void execFileSync('mkfifo', ['-m', '666', path]),
  'a link to /dev/zero': (path) => symlinkSync('/dev/zero', path),
  'a link to /dev/stdin': (path) => symlinkSync('/dev/stdin', path),
  'a link to /dev/tty': (path) => symlinkSync('/dev/tty', path),
  'a directory': (path) => mkdirSync(path),
  'a socket': (path) => {
    const server = createServer(() => {}).listen(path);
    onTestFinished(() => void server.close());
  },
  'a file of 10 GiB': (path) => {
    const file = openSync(path, 'w', 0o666);
    ftruncateSync(file, 10 * 1024 ** 3);
    closeSync(file);
  },
  'a link to /proc/self/mem': (path) => symlinkSync('/proc/self/mem', path),
  'a link to /proc/kmsg': (path) => symlinkSync('/proc/kmsg', path),
  'a link to itself': (path) => symlinkSync(path, path),
};

const peakMemory = ({ child }: Running): number =>
  Number(/VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${child.pid}/status`, 'utf8'))?.[1]) * 1024;

/** `run` goes on: the other authority rotates, memory stays small, and SIGTERM ends it within seconds. */
const goesOn = async (home: string, says: readonly string[] = []): Promise<Running> => {
  const running = start(['run', home]);
  const rotated = (id: string): boolean => {
    const state = join(home, 'state/authorities/default/good.json');
    return existsSync(state) && readFileSync(state, 'utf8').includes(id);
  };
  await eventually('the first certificate', () => existsSync(join(home, 'out/default/secrets/good/tls.crt')));
  const { requests } = new DirectoryHome(home, { timers: systemClock });
  for (const id of ['first-rotation', 'second-rotation']) {
    await requests.ask({ authority: 'default/good', rotate: id });
    await eventually(id, () => rotated(id));
  }
  for (const text of says) await eventually(text, () => running.said().includes(text));
  expect(peakMemory(running)).toBeLessThan(512 * 1024 ** 2);
  running.child.kill('SIGTERM');
  expect(await running.ended(SOON_MS)).toMatchObject({ code: 0 });
  return running;
};

describe.skipIf(process.platform !== 'linux').each(Object.keys(HOSTS))('%s', (what) => {
  const put = (path: string): void => {
    HOSTS[what]?.(path);
    if (isRoot && existsSync(path) && what === 'a FIFO') chownSync(path, NOBODY, NOBODY);
  };

  test(`${what} as a status file, as a pid file and as a file in out stops nothing else`, async () => {
    const [status, pid] = [join(folder(), 'status'), join(folder(), 'pid')];
    const home = besideGood(
      authority('bad', { consumers: `[{name: c, verifies: true, status: {file: ${status}}}]` }),
      leaf('bad', { reload: `{signal: {pidFile: ${pid}, signal: SIGHUP}}` }),
      authority('worse'),
      leaf('worse'),
    );
    const place = join(home, 'out/default/secrets/worse');
    mkdirSync(place, { recursive: true, mode: 0o755 });
    for (const path of [status, pid, join(place, 'tls.crt'), join(place, 'else')]) put(path);
    await goesOn(home, [pid]);
  });

  test(`${what} as a *.yaml is refused by name, or is not read`, async () => {
    const home = besideGood(authority('bad'), leaf('bad'));
    put(join(home, 'b.yaml'));
    if (what === 'a directory') return void (await goesOn(home));
    const { code, stderr } = await start(['run', home]).ended(SOON_MS);
    expect(stderr).toMatch(/^HOME_[A-Z_]+: .*\n$/);
    expect(code).toBe(1);
  });
});

test('Programs that answer on their sockets with nothing, too slowly or without an end stop nothing else', async () => {
  type Write = (text: string) => void;
  const answers: readonly ((write: Write) => void)[] = [
    () => {},
    (write) => void setInterval(() => write('H'), 1_000).unref(),
    (write) => {
      write('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n');
      setInterval(() => write(`10000\r\n${'x'.repeat(65_536)}\r\n`), 1).unref();
    },
  ];
  const consumers = answers.map((answer, index) => {
    const path = join(folder(), 's');
    const server = createServer((socket) => {
      socket.on('error', () => {});
      answer((text) => socket.writable && socket.write(text));
    }).listen(path);
    onTestFinished(() => void server.close());
    return `{name: c${index}, verifies: true, status: {socket: ${path}}}`;
  });
  await goesOn(besideGood(authority('bad', { consumers: `[${consumers.join()}]` }), leaf('bad')));
});

describe.skipIf(!canHang).each([
  ['that does not answer', false],
  ['that does not answer, and whose requests no signal ends', true],
])('A file system %s (needs root and FUSE)', (_, takes) => {
  const hungHome = (): { readonly home: string; readonly hung: string } => {
    const { path: hung, end } = hungFileSystem({ takes });
    onTestFinished(end);
    const output = `{name: a.jks, format: jks, passwordFrom: {file: ${hung}/password}}`;
    const home = besideGood(
      authority('bad', {
        consumers: `[{name: c, verifies: true, status: {file: ${hung}/status}}, {name: d, verifies: true, status: {socket: ${hung}/socket}}]`,
      }),
      leaf('bad', { reload: `{signal: {pidFile: ${hung}/pid, signal: SIGHUP}}` }),
      authority('worse'),
      leaf('worse', { outputs: `[${output}]` }),
    );
    return { home, hung };
  };

  test('a hung file system stops nothing else as the place of status file, socket, pid file and password', async () => {
    const { home, hung } = hungHome();
    await goesOn(home, [
      `pid file ${hung}/pid did not answer within 2 s`,
      `${hung}/password did not answer within 2 s; is its file system there?`,
    ]);
  });

  test('a hung file system does not keep SIGTERM from ending run, nor status from its end', async () => {
    const { home, hung } = hungHome();
    const running = start(['run', home]);
    // It waits for its own files, two seconds each, at every look.
    const bad = join(home, 'out/default/secrets/bad/tls.crt');
    await eventually('the leaf of the bad one', () => existsSync(bad), 60_000);
    await new DirectoryHome(home, { timers: systemClock }).requests.ask({
      authority: 'default/bad',
      rotate: 'one',
    });
    const { stdout } = await start(['status', '--home', `dir:${home}`]).ended(30_000);
    expect(stdout).toContain(`status file ${hung}/status did not answer within 2 s`);
    expect(stdout).toContain(`status socket ${hung}/socket did not answer within 2 s`);
    running.child.kill('SIGTERM');
    expect(await running.ended(SOON_MS)).toMatchObject({ code: 0 });
  });
});

test('a hook that never ends does not keep SIGTERM from ending run within seconds', async () => {
  const mark = join(folder(), 'mark');
  const reload = shell(`trap "" TERM; touch ${mark}; sleep 60`);
  const running = start(['run', besideGood(authority('bad'), leaf('bad', { reload }))]);
  await eventually('the hook', () => existsSync(mark));
  running.child.kill('SIGTERM');
  await running.ended(SOON_MS);
});

test('a hook that leaves a process behind which holds its output counts as run', async () => {
  const mark = join(folder(), 'mark');
  const reload = shell(`touch ${mark}; sleep 20 & exit 0`);
  await goesOn(besideGood(authority('bad'), leaf('bad', { reload })));
  expect(existsSync(mark)).toBe(true);
});
