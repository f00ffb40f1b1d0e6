// The parent of one cluster's processes. When the process that started the keeper dies, for any reason, the keeper ends them and
// cleans up; when the keeper dies, the kernel ends them (PR_SET_PDEATHSIG) and the next harness to start cleans up.
import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { clearAway } from './clear-away.ts';
import type { FromKeeper, KeeperArguments, ProcessSpec, Request, ToKeeper } from './keeper-protocol.ts';
import { identify, type ProcessId } from './process-id.ts';
import { type ClusterRecord, forget, writeRecord } from './record.ts';

const { recordPath, record: given } = JSON.parse(process.argv[2] ?? '') as KeeperArguments;
const self = identify(process.pid);
if (self === undefined) throw new Error('this process cannot find itself');

let record: ClusterRecord = { ...given, keeper: self, processes: [] };
const children = new Map<string, { readonly child: ChildProcess; readonly id: ProcessId }>();
const adopted: ClusterRecord['processes'][number][] = [];
let staying = false;
let ending: Promise<void> | undefined;

const save = (change: Partial<ClusterRecord> = {}): void => {
  const processes = [...[...children].map(([name, { id }]) => ({ name, ...id })), ...adopted];
  record = { ...record, ...change, processes };
  writeRecord(recordPath, record);
};

const tell = (message: FromKeeper): void => {
  if (process.connected) process.send?.(message, () => undefined);
};

const start = (spec: ProcessSpec): Promise<number> => {
  if (ending !== undefined) throw new Error('the cluster is ending');
  if (children.has(spec.name)) throw new Error(`${spec.name} is already running`);
  const log = openSync(spec.log, 'a');
  const guarded = process.platform === 'linux';
  const child = spawn(
    guarded ? 'setpriv' : spec.command,
    guarded ? ['--pdeathsig', 'SIGKILL', '--', spec.command, ...spec.args] : spec.args,
    { stdio: ['ignore', log, log], env: { ...process.env, ...spec.env } },
  );
  closeSync(log);
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('spawn', () => {
      const pid = child.pid ?? 0;
      const id = identify(pid);
      if (id !== undefined) {
        children.set(spec.name, { child, id });
        save();
      }
      resolve(pid);
    });
    child.once('exit', (code, signal) => {
      if (children.get(spec.name)?.child === child) children.delete(spec.name);
      if (ending === undefined) save();
      tell({ kind: 'exit', name: spec.name, pid: child.pid ?? 0, code, signal });
    });
  });
};

const stop = (name: string, signal: NodeJS.Signals): Promise<void> =>
  new Promise((resolve) => {
    const running = children.get(name);
    if (running === undefined) return resolve();
    running.child.once('exit', () => resolve());
    running.child.kill(signal);
  });

const end = (): Promise<void> => {
  ending ??= clearAway(record).then(() => forget(recordPath));
  return ending;
};

const serve = async (request: Request): Promise<number | undefined> => {
  switch (request.op) {
    case 'start':
      return start(request.spec);
    case 'stop':
      await stop(request.name, request.signal);
      return undefined;
    case 'record':
      save(request.change);
      return undefined;
    case 'adopt': {
      const id = identify(request.pid);
      if (id === undefined) throw new Error(`${request.name} has ended`);
      adopted.push({ name: request.name, ...id });
      save();
      return undefined;
    }
    case 'stay':
      staying = true;
      return undefined;
    case 'end':
      await end();
      return undefined;
    default:
      return request satisfies never;
  }
};

const endAndExit = (): void => {
  end().then(
    () => process.exit(0),
    (error: unknown) => {
      process.stderr.write(`${String(error)}\n`);
      process.exit(1);
    },
  );
};

process.on('message', ({ id, request }: ToKeeper) => {
  serve(request).then(
    (pid) => tell({ kind: 'answer', id, ...(pid === undefined ? {} : { pid }) }),
    (error: unknown) =>
      tell({ kind: 'answer', id, error: error instanceof Error ? error.message : String(error) }),
  );
});
process.on('disconnect', () => {
  if (!staying || ending !== undefined) endAndExit();
});
for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, endAndExit);
process.on('SIGHUP', () => undefined); // the terminal ended, but its owner may still run
process.on('uncaughtException', (error) => {
  process.stderr.write(`${error.stack}\n`);
  endAndExit();
});
save();
tell({ kind: 'answer', id: 0 });
