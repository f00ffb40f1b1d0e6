import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { besideRuntime } from '../../test/beside-runtime.ts';
import { type Form, placeOf } from '../../test/family.ts';
import { MockCa } from '../../test/mock-ca.ts';
import { eventually } from '../../test/world.ts';

/** A program that starts worker threads, one for each line, and knows nothing of this package. */
const PROGRAM = `
const { Worker, isMainThread, parentPort, workerData } = require('node:worker_threads');
const running = [];
const begin = ({ how, behind }) => {
  const options = {
    plain: {},
    busy: {},
    nesting: {},
    execArgv: { execArgv: [] },
    env: { env: {} },
    behind: { env: { ...process.env, HANDOVER_CA: behind } },
  }[how];
  const worker = new Worker(__filename, { ...options, workerData: how });
  worker.on('message', (said) => console.log(said));
  worker.once('exit', () => console.log('exit'));
  running.push(worker);
};
if (isMainThread) {
  require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
    const told = JSON.parse(line);
    if (told.how === 'end') running.pop().terminate();
    else if (told.how === 'go') running.at(-1).postMessage('go');
    else if (told.how === 'stranger') {
      const channel = new BroadcastChannel('handover-register');
      for (const said of [undefined, null, 'hello', 7, {}, { thread: 1 }, { thread: 1, sources: [], started: 'no' }]) channel.postMessage(said);
      channel.close();
      setTimeout(() => console.log('said'), 100);
    } else if (told.how === 'hooks') require('node:module').register('data:text/javascript,export const a = 1');
    else begin(told);
  }).on('close', () => process.exit());
} else {
  setInterval(() => undefined, 1_000);
  if (workerData === 'nesting') begin({ how: 'execArgv' });
  else parentPort.postMessage('runs');
  if (workerData === 'busy') parentPort.once('message', () => { parentPort.postMessage('busy'); for (;;); });
}
`;

const one = new MockCa('one');
const two = new MockCa('two');
const stage = besideRuntime({ 'threads.cjs': PROGRAM });

const placed = async (form: Form) => {
  const volume = stage.scope.volume({ 'ca.crt': one.pem });
  return { volume, ...(await placeOf(form, volume.dir)) };
};

const begin = async (form: Form = 'port', world = placed(form)) => {
  const { volume, setting, read } = await world;
  const child: ChildProcess = spawn(
    process.execPath,
    ['--import', join(stage.dir, 'register.mjs'), join(stage.dir, 'threads.cjs')],
    {
      env: {
        PATH: process.env.PATH,
        HANDOVER_CA: volume.path('ca.crt'),
        HANDOVER_STATUS: setting,
      },
      stdio: ['pipe', 'pipe', 'pipe'],
    },
  );
  const { pid = 0 } = child;
  stage.scope.after(async () => {
    child.kill('SIGKILL');
    if (child.exitCode === null && child.signalCode === null) await once(child, 'close');
  });
  const said = { out: '', err: '' };
  child.stdout?.on('data', (text) => {
    said.out += text;
  });
  child.stderr?.on('data', (text) => {
    said.err += text;
  });
  const processes = () =>
    read().then(
      (document) => document.processes.filter((process) => process.pid === pid),
      () => undefined,
    );
  const tell = async (how: string, behind = '') => {
    const before = said.out.length;
    child.stdin?.write(`${JSON.stringify({ how, behind })}\n`);
    if (how !== 'hooks') await eventually(() => said.out.length > before);
  };
  const speaks = () => expect.poll(processes, { timeout: 20_000 }).toEqual([{ pid }]);
  /** For a while, because a thread that starts is silent too. */
  const isSilent = async () => {
    await expect.poll(processes, { timeout: 20_000 }).toEqual([{ pid, silent: true }]);
    for (let times = 0; times < 5; times++) {
      await new Promise((later) => setTimeout(later, 100));
      expect(await processes()).toEqual([{ pid, silent: true }]);
    }
  };
  await speaks();
  return { volume, pid, read, tell, speaks, isSilent, said };
};

describe.each(['execArgv', 'env', 'nesting'])('A worker thread without register (%s)', (how) => {
  test(`a worker thread without register (${how}) makes the status silent for as long as it runs`, async () => {
    const { tell, speaks, isSilent } = await begin();
    await tell(how);
    await isSilent();
    await tell('end');
    await speaks();
  });
});

test('a worker thread without register makes a status file silent as soon as it starts, and the program is warned', {
  timeout: 60_000,
}, async () => {
  const { tell, isSilent, said } = await begin('file');
  await tell('execArgv');
  await isSilent();
  await expect
    .poll(() => said.err, { timeout: 20_000 })
    .toMatch(/THREAD_NOT_COVERED.*worker thread 1 of process/);
});

test('messages of other code on the channel of register neither end the program nor count', async () => {
  const { tell, speaks, said } = await begin();
  await tell('stranger');
  await speaks();
  expect(said.err).not.toContain('TypeError');
});

test('worker threads under register, and the thread of module hooks, do not make the status silent', async () => {
  const { tell, speaks, volume, read } = await begin();
  await tell('plain');
  await tell('plain');
  await tell('hooks');
  await speaks();
  volume.write({ 'ca.crt': two.pem });
  await eventually(async () => {
    const { sources } = await read();
    return sources.length === 1 && sources[0]?.loads === 2;
  });
  await speaks();
});

test('a worker thread that has not loaded the new CA shows its old one, beside the new one of the program', async () => {
  const { tell, speaks, volume, read } = await begin();
  const anchors = async () => (await read()).sources.map(({ anchors: held }) => held?.[0]);
  const [old] = await anchors();
  await tell('busy');
  await speaks();
  await tell('go'); // the thread is busy from now on, and reads nothing
  volume.write({ 'ca.crt': two.pem });
  await eventually(async () => (await anchors()).some((held) => held !== old));
  expect(await anchors()).toContain(old);
  await tell('end');
  await eventually(async () => !(await anchors()).includes(old));
  await speaks();
});

test('a worker thread with a CA file of its own shows that file too', async () => {
  const { tell, speaks, read } = await begin();
  const other = stage.scope.volume({ 'ca.crt': two.pem });
  await tell('behind', other.path('ca.crt'));
  await speaks();
  await eventually(async () => (await read()).sources.some(({ path }) => path === other.path('ca.crt')));
});

test('a process that reports to another one is silent at once for its worker thread', async () => {
  const world = placed('port');
  const first = await begin('port', world);
  const second = await begin('port', world);
  await second.tell('execArgv');
  await second.isSilent();
  await first.speaks();
  // It answers: one that does not is waited for, a second each time.
  await eventually(async () => {
    const asked = performance.now();
    expect((await first.read()).processes).toHaveLength(2);
    return performance.now() - asked < 900;
  });
  await second.tell('end');
  await second.speaks();
});
