import { fork } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, openSync } from 'node:fs';
import { join } from 'node:path';
import { HandoverError } from '@handover/material';
import type { FromKeeper, KeeperArguments, ProcessSpec, Request } from './keeper-protocol.ts';
import { programPath } from './places.ts';

export interface Keeper {
  readonly pid: number;
  /** Starts a process and returns its id. The keeper does not restart it: the caller decides that. */
  start(spec: ProcessSpec): Promise<number>;
  /** Signals the process and waits until it has ended. */
  stop(name: string, signal: NodeJS.Signals): Promise<void>;
  /** Undefined when the process is not running. */
  pidOf(name: string): number | undefined;
  /** Also removes these cgroups in the end. */
  alsoRemoveCgroups(paths: readonly string[]): Promise<void>;
  /** Also removes these files in the end. */
  alsoRemove(files: readonly string[]): Promise<void>;
  /** Also ends a process that the keeper did not start. */
  adopt(name: string, pid: number): Promise<void>;
  /** Leaves the cluster running when this process ends. */
  leave(): Promise<void>;
  /** Ends every process, cleans up, and ends the keeper. */
  end(): Promise<void>;
}

const environment = (): NodeJS.ProcessEnv => {
  // Without the test runner's own options (loaders, conditions).
  const { NODE_OPTIONS: _options, ...rest } = process.env;
  return Object.fromEntries(Object.entries(rest).filter(([name]) => !name.startsWith('VITEST')));
};

export async function startKeeper(given: KeeperArguments): Promise<Keeper> {
  const program = programPath('keeper');
  if (!existsSync(program)) {
    throw new HandoverError('CLUSTER_NOT_BUILT', 'the cluster harness is not built; run npm run build', {
      path: program,
    });
  }
  mkdirSync(join(given.recordPath, '..'), { recursive: true, mode: 0o700 });
  const log = openSync(join(given.record.directory, 'keeper.log'), 'a');
  const child = fork(program, [JSON.stringify(given)], {
    // A separate session: Ctrl-C in a terminal goes only to the test, and the keeper notices the end of the test.
    detached: true,
    execArgv: [],
    env: environment(),
    stdio: ['ignore', log, log, 'ipc'],
  });
  const running = new Map<string, number>();
  const waiting = new Map<number, { resolve(pid: number | undefined): void; reject(error: Error): void }>();
  const gone = new HandoverError(
    'CLUSTER_KEEPER_GONE',
    'the keeper of the cluster has ended; see keeper.log',
    {
      path: given.record.directory,
    },
  );
  let nextId = 1;
  let { files, cgroups } = given.record;
  const answer = (id: number): Promise<number | undefined> =>
    new Promise((resolve, reject) => {
      waiting.set(id, { resolve, reject });
      child.channel?.ref();
    });
  /** A process that forgets to stop its cluster must not hang: an idle channel does not keep it alive. */
  const letGo = (): void => {
    if (waiting.size === 0) child.channel?.unref();
  };
  child.on('message', (message: FromKeeper) => {
    if (message.kind === 'exit') {
      if (running.get(message.name) === message.pid) running.delete(message.name);
      return;
    }
    const asked = waiting.get(message.id);
    waiting.delete(message.id);
    letGo();
    if (message.error === undefined) asked?.resolve(message.pid);
    else asked?.reject(new HandoverError('CLUSTER_PROCESS', message.error));
  });
  child.on('exit', () => {
    running.clear();
    for (const { reject } of waiting.values()) reject(gone);
    waiting.clear();
  });
  const ask = (request: Request): Promise<number | undefined> => {
    if (!child.connected) return Promise.reject(gone);
    const id = nextId++;
    const answered = answer(id);
    child.send({ id, request });
    return answered;
  };
  await answer(0);
  child.unref();

  return {
    pid: child.pid ?? 0,
    start: async (spec) => {
      const pid = (await ask({ op: 'start', spec })) ?? 0;
      running.set(spec.name, pid);
      return pid;
    },
    stop: async (name, signal) => {
      await ask({ op: 'stop', name, signal });
    },
    pidOf: (name) => running.get(name),
    alsoRemoveCgroups: async (more) => {
      cgroups = [...cgroups, ...more];
      await ask({ op: 'record', change: { cgroups } });
    },
    alsoRemove: async (more) => {
      files = [...files, ...more];
      await ask({ op: 'record', change: { files } });
    },
    adopt: async (name, pid) => {
      await ask({ op: 'adopt', name, pid });
    },
    leave: async () => {
      await ask({ op: 'stay' });
      child.disconnect();
    },
    end: async () => {
      if (!child.connected) return;
      child.ref();
      const exited = once(child, 'exit');
      await ask({ op: 'end' });
      child.disconnect();
      await exited;
    },
  };
}
