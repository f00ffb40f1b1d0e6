// Against: PM2 of the registry in cluster and fork mode, with both packages as they are packed.
import { copyFileSync, existsSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { get } from 'node:https';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, inject, onTestFinished, test } from 'vitest';
import { freePort } from '../api-server/src/free-port.ts';
import { project } from './src/project.ts';
import { run, start } from './src/run.ts';
import { Files } from './src/world.ts';

const { bare } = inject('installed');
const handover = join(bare, 'node_modules/.bin/handover');
const cwd = project('pm2', ['pm2@7.0.4']);
const home = mkdtempSync(join(dirname(bare), 'pm2-'));

const isAlive = (pid: number): boolean => {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
};

const eventually = async <T>(what: string, look: () => Promise<T | undefined>): Promise<T> => {
  let last: unknown;
  for (const late = Date.now() + 60_000; Date.now() < late; ) {
    const found = await look().catch((error: unknown) => {
      last = error;
      return undefined;
    });
    if (found !== undefined) return found;
    await new Promise((tick) => setTimeout(tick, 50));
  }
  throw new Error(`${what} never came: ${last}`);
};

/** PM2's daemon with one program; both end with the test. */
const startUnderPm2 = async (app: {
  readonly script: string;
  readonly instances: number;
  readonly exec_mode: 'cluster' | 'fork';
  readonly env: Readonly<Record<string, string>>;
}): Promise<void> => {
  const config = { apps: [{ name: 'web', vizion: false, ...app }] };
  writeFileSync(join(cwd, 'apps.config.cjs'), `module.exports = ${JSON.stringify(config)};\n`);
  const pm2Home = mkdtempSync(join(home, 'daemon-'));
  onTestFinished(async () => {
    if (!existsSync(join(pm2Home, 'pm2.pid'))) return;
    const pid = Number(readFileSync(join(pm2Home, 'pm2.pid'), 'utf8'));
    process.kill(pid, 'SIGTERM');
    await eventually('the end of the daemon', async () => (isAlive(pid) ? undefined : true));
  });
  const pm2 = join(cwd, 'node_modules/pm2/bin/pm2');
  const args = [pm2, 'start', 'apps.config.cjs'];
  const started = await start(cwd, process.execPath, args, { PM2_HOME: pm2Home }).ended;
  expect(started).toMatchObject({ code: 0 });
};

interface Document {
  readonly pid: number;
  readonly processes: readonly { readonly pid: number; readonly silent?: true }[];
  readonly sources: readonly { readonly loads: number; readonly pids: readonly number[] }[];
}

/** A home with three workers of PM2 as its consumer, and requests to them until `end`. The first rotation has yet to be asked for. */
const startMesh = async (name: string, more: Readonly<Record<string, string>> = {}) => {
  const [port, statusPort] = [await freePort(), await freePort()];
  const status = `http://127.0.0.1:${statusPort}/handover/status`;
  const ca = join(home, name);
  expect(await run(home, handover, 'init', name)).toMatchObject({ code: 0 });
  const file = join(ca, 'handover.yaml');
  const consumer = `consumers:\n    - {name: web, presents: true, verifies: true, status: {url: "${status}"}}`;
  const config = readFileSync(file, 'utf8').replace('reloadWithin: 3m', 'reloadWithin: 1s');
  writeFileSync(file, config.replace('# consumers:', consumer));
  expect(await run(home, handover, 'run', name, '--once')).toMatchObject({ code: 0 });
  const certificates = join(ca, 'out/default/secrets/web');
  copyFileSync(fileURLToPath(new URL('./consumers/pm2-web.cjs', import.meta.url)), join(cwd, 'pm2-web.cjs'));
  const env = { CERTIFICATES: certificates, PORT: `${port}`, STATUS_PORT: `${statusPort}`, ...more };
  await startUnderPm2({ script: 'pm2-web.cjs', instances: 3, exec_mode: 'cluster', env });
  const document = async () => (await (await fetch(status)).json()) as Document;
  const workers = await eventually('a status of three workers', async () => {
    const all = await document();
    const reporting = new Set(all.sources.flatMap(({ pids }) => pids));
    return all.processes.length === 3 && reporting.size === 3 ? all : undefined;
  });

  const keeper = start(home, handover, ['run', name]);
  onTestFinished(() => {
    keeper.child.kill('SIGKILL');
  });
  const trusted = () => readFileSync(join(certificates, 'ca.crt'), 'utf8');
  const failed: string[] = [];
  const answeredBy = new Map<string, number>();
  let over = false;
  /** Trusts what the folder says, as any program of this mesh does; each request is a new connection. */
  const request = () =>
    new Promise<string>((resolve, reject) => {
      get({ host: 'localhost', port, ca: trusted(), agent: false }, (response) => {
        response.setEncoding('utf8').on('data', resolve).on('error', reject);
      }).on('error', reject);
    });
  const load = async () => {
    while (!over) {
      const pid = await request().catch((error: unknown) => {
        failed.push(String(error));
        return 'none';
      });
      answeredBy.set(pid, (answeredBy.get(pid) ?? 0) + 1);
    }
  };
  const loads = [load(), load(), load(), load()];
  await eventually('an answer of each worker', async () => (answeredBy.size >= 3 ? true : undefined));
  const rotate = (...args: readonly string[]) =>
    run(home, handover, 'rotate', 'default/internal', '--home', `dir:${name}`, '--id', 'one', ...args);
  return {
    workers,
    document,
    rotate: async () => expect(await rotate()).toMatchObject({ code: 0 }),
    /** What `handover status` says. */
    seen: async () => (await run(home, handover, 'status', '--home', `dir:${name}`, '--json')).stdout,
    /** Waits for the end of the rotation, and of the requests. */
    end: async (what: string) => {
      expect(await rotate('--wait', '--timeout', '120s')).toMatchObject({ code: 0 });
      over = true;
      await Promise.all(loads);
      expect(failed).toEqual([]);
      expect(trusted().match(/BEGIN CERTIFICATE/g)).toHaveLength(1);
      const answered = [...answeredBy.values()].reduce((sum, count) => sum + count, 0);
      console.log(`| ${what} | 7.0.4 | ${process.versions.node} | ${answered} | ${failed.length} |`);
    },
  };
};

test('a rotation waits for every worker of PM2, and no request fails', async () => {
  const { workers, document, rotate, seen, end } = await startMesh('stopped');
  // A worker that does not run is one that has loaded nothing.
  const stopped = workers.processes.find(({ pid }) => pid !== workers.pid)?.pid ?? 0;
  process.kill(stopped, 'SIGSTOP');
  onTestFinished(() => {
    if (isAlive(stopped)) process.kill(stopped, 'SIGCONT');
  });
  await rotate();
  const partial = await eventually('the new CA in the other two', async () => {
    const all = await document();
    const isWithTwo = all.sources.some(({ loads, pids }) => loads === 2 && pids.length === 2);
    return isWithTwo && all.processes.some(({ pid, silent }) => pid === stopped && silent) ? all : undefined;
  });
  expect(partial.processes).toHaveLength(3);
  const waiting = await eventually('a rotation that waits', async () => {
    const text = await seen();
    return text.includes(`${stopped}`) ? text : undefined;
  });
  expect(waiting).toContain('Introducing');

  process.kill(stopped, 'SIGCONT');
  await end('pm2, 3 workers');
  expect((await document()).sources).toMatchObject([{ pids: expect.arrayContaining([stopped]) }]);
});

test('a rotation waits for a worker of PM2 that answers and has not read its files yet, and no request fails', async () => {
  const polls = join(home, 'polls');
  const polled = () => readFileSync(polls, 'utf8').trim().split('\n');
  const { document, rotate, seen, end } = await startMesh('behind', { POLLS: polls });
  const behind = Number(polled()[0]);
  const before = polled().length;
  // Right after it has read its files: 6 s or more until it does again.
  await eventually('a poll', async () => (polled().length > before ? true : undefined));
  await rotate();
  await eventually('the new CA in the other two', async () => {
    const { sources } = await document();
    return sources.some(({ loads, pids }) => loads === 2 && pids.length === 2) ? true : undefined;
  });
  let looks = 0;
  for (;;) {
    const text = await seen();
    const { processes, sources } = await document();
    if (!sources.some(({ loads, pids }) => loads === 1 && pids.includes(behind))) break;
    looks++;
    expect(processes.filter(({ silent }) => silent)).toEqual([]);
    expect(text).toContain('Introducing');
  }
  expect(looks).toBeGreaterThan(0);
  await end('pm2, 3 workers, one of them polls');
});

test('under register the status speaks for every process of fork mode, also when PM2 replaces one', async () => {
  const files = new Files(home);
  const statusPort = await freePort();
  writeFileSync(join(cwd, 'idle.cjs'), 'setInterval(() => undefined, 1_000);\n');
  const register = join(cwd, 'node_modules/@handover/runtime/dist/register.js');
  const env = { ...files.env, NODE_OPTIONS: `--import=${register}`, HANDOVER_STATUS: `${statusPort}` };
  await startUnderPm2({ script: 'idle.cjs', instances: 2, exec_mode: 'fork', env });
  const two = (others: readonly number[]) =>
    eventually('a status of two processes', async () => {
      const { processes } = (await (
        await fetch(`http://127.0.0.1:${statusPort}/handover/status`)
      ).json()) as Document;
      const pids = processes.flatMap(({ pid, silent }) => (silent ? [] : [pid]));
      return pids.length === 2 && processes.length === 2 && others.every((pid) => !pids.includes(pid))
        ? pids
        : undefined;
    });
  const [first = 0, second = 0] = await two([]);
  process.kill(first, 'SIGKILL');
  expect(await two([first])).toContain(second);
});
