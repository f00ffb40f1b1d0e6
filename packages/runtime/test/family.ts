import { type ChildProcess, spawn } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { join } from 'node:path';
import { freePort } from '@handover/test-api-server';
import type { StatusDocument } from '../src/index.ts';
import { birthOf } from '../src/status/cluster-process.ts';
import { eventually } from './world.ts';

/** A program that starts others, and does what the test tells it, one line for each command. It knows nothing of this package. */
const PROGRAM = `
const { fork, spawnSync } = require('node:child_process');
const cluster = require('node:cluster');
const say = (said) => console.log(JSON.stringify(said));
if (process.argv[2] === 'child') {
  setInterval(() => undefined, 1_000);
} else {
  let line = '';
  process.stdin.on('data', (data) => {
    const lines = (line + data).split('\\n');
    line = lines.pop();
    for (const text of lines) {
      const { command, env } = JSON.parse(text);
      if (command === 'fork') {
        const child = fork(__filename, ['child'], { env: { ...process.env, ...env } });
        child.on('exit', (code) => say({ ended: child.pid, code }));
        say({ started: child.pid });
      }
      if (command === 'cluster') {
        cluster.setupPrimary({ exec: __filename, args: ['child'] });
        say({ started: cluster.fork().process.pid });
      }
      if (command === 'spawnSync') {
        const { status, stderr } = spawnSync(process.execPath, ['-e', 'console.log("ran")'], { encoding: 'utf8' });
        say({ status, stderr });
      }
    }
  }).on('end', () => process.exit());
}
say({ ready: process.pid });
`;

interface Said {
  readonly ready?: number;
  readonly started?: number;
  readonly ended?: number;
  readonly code?: number | null;
  readonly status?: number | null;
  readonly stderr?: string;
}

/** One process that the test starts, and those that it starts itself. */
export class Program {
  readonly said: Said[] = [];
  readonly child: ChildProcess;
  stderr = '';

  constructor(dir: string, node: string, flags: readonly string[], env: Readonly<Record<string, string>>) {
    const file = join(dir, 'family.cjs');
    writeFileSync(file, PROGRAM);
    this.child = spawn(node, [...flags, file], {
      cwd: dir,
      env: { PATH: process.env.PATH, ...env },
      stdio: ['pipe', 'pipe', 'pipe'],
    });
    let rest = '';
    this.child.stdout?.setEncoding('utf8').on('data', (text: string) => {
      const lines = (rest + text).split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) this.said.push(JSON.parse(line) as Said);
    });
    this.child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      this.stderr += text;
    });
  }

  get pid(): number {
    return this.child.pid ?? 0;
  }

  tell(command: 'fork' | 'cluster' | 'spawnSync', env: Readonly<Record<string, string>> = {}): void {
    this.child.stdin?.write(`${JSON.stringify({ command, env })}\n`);
  }

  /** Process ids of those that run, this one first, once that many are ready. */
  async ready(count: number): Promise<readonly number[]> {
    const pids = () => this.said.flatMap(({ ready }) => (ready === undefined ? [] : [ready]));
    await eventually(() => pids().length >= count || this.child.exitCode !== null);
    if (pids().length < count) throw new Error(`the program ended: ${this.stderr}`);
    return pids();
  }

  /** What the program has said of one kind. */
  async saying<Key extends keyof Said>(key: Key): Promise<Said> {
    await eventually(() => this.said.some((said) => said[key] !== undefined));
    return this.said.find((said) => said[key] !== undefined) ?? {};
  }

  /** Ends the program and what it has started. */
  async end(): Promise<void> {
    const started = this.said.flatMap(({ started: pid }) => (pid === undefined ? [] : [pid]));
    await endProcesses([this.pid, ...started]);
  }
}

const kill = (pid: number): void => {
  try {
    process.kill(pid, 'SIGKILL');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
};

/** Processes started by this one that run now; none where the system does not say. */
function childrenOf(pid: number): readonly number[] {
  try {
    return readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean).map(Number);
  } catch {
    return [];
  }
}

/**
 * Ends these processes and those they have started, each by its id, and waits until they are gone. One that outlives its test still writes
 * into the folder that the test removes, and is still on the roll of that folder's inode, which the next test's folder may have.
 */
export async function endProcesses(pids: readonly number[]): Promise<void> {
  const all = new Set(pids);
  for (const pid of all) for (const child of childrenOf(pid)) all.add(child); // grows while it is walked
  for (const pid of all) kill(pid);
  await eventually(() => [...all].every((pid) => birthOf(pid) === undefined));
}

export const ask = (where: object): Promise<StatusDocument> =>
  new Promise((resolve, reject) => {
    request({ path: '/handover/status', agent: false, timeout: 5_000, ...where }, (response) => {
      let body = '';
      response.on('data', (chunk) => {
        body += chunk;
      });
      response.on('end', () =>
        response.statusCode === 200
          ? resolve(JSON.parse(body) as StatusDocument)
          : reject(new Error(`answered ${response.statusCode}`)),
      );
    })
      .on('timeout', function (this: { destroy(error: Error): void }) {
        this.destroy(new Error('no answer'));
      })
      .on('error', reject)
      .end();
  });

export type Form = 'port' | 'socket' | 'file';

/** A free place of one form: the value of HANDOVER_STATUS, the options of `serveStatus`, and how a controller reads it. */
export async function placeOf(
  form: Form,
  dir: string,
): Promise<{ setting: string; place: object; read: () => Promise<StatusDocument> }> {
  switch (form) {
    case 'port': {
      const port = await freePort();
      return { setting: `${port}`, place: { port }, read: () => ask({ port, host: '127.0.0.1' }) };
    }
    case 'socket': {
      const socket = join(dir, 'status.sock');
      return { setting: `unix:${socket}`, place: { socket }, read: () => ask({ socketPath: socket }) };
    }
    case 'file': {
      const file = join(dir, 'status.json');
      const read = async () => JSON.parse(readFileSync(file, 'utf8')) as StatusDocument;
      return { setting: file, place: { file }, read };
    }
    default:
      return form satisfies never;
  }
}

export const sorted = (pids: readonly number[]): readonly number[] => [...pids].sort((a, b) => a - b);
export const pidsOf = ({ processes }: StatusDocument): readonly number[] =>
  sorted(processes.map(({ pid }) => pid));

/** A read that fails while one process takes over from another is no answer. */
export const attempt = (read: () => Promise<StatusDocument>): Promise<StatusDocument | undefined> =>
  read().catch(() => undefined);

/** The document once it speaks for just these processes, and all of them have answered. */
export async function speaksFor(
  read: () => Promise<StatusDocument>,
  pids: readonly number[],
): Promise<StatusDocument> {
  let last: StatusDocument | undefined;
  const isSo = async (): Promise<boolean> => {
    last = await attempt(read);
    if (last === undefined) return false;
    const isWhole = last.processes.every(({ silent }) => silent === undefined);
    return isWhole && JSON.stringify(pidsOf(last)) === JSON.stringify(sorted(pids));
  };
  await eventually(isSo).catch((cause: unknown) => {
    throw new Error(`expected ${sorted(pids)}, last read ${JSON.stringify(last)}`, { cause });
  });
  if (last === undefined) throw new Error('no document');
  return last;
}
