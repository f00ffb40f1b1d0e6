import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { PROGRAM } from '@handover/test-api-server';
import { onTestFinished } from 'vitest';
import { directory, started } from '../around.ts';

const PAGE = fileURLToPath(new URL('../../../../../docs/recipes/programs.md', import.meta.url));

/** A directory with the files that the page prints for one program, and programs around it. */
export interface Stage {
  readonly dir: string;
  readonly restarts: readonly Span[];
  /** When hooks ran, from what `handover run` says. */
  hooks(): readonly Span[];
  /** What clients read. */
  readonly client: { readonly ca: string; readonly cert: string; readonly key: string };
  /** Runs the command to its end, with what it wrote to stdout and stderr. */
  handover(...args: readonly string[]): Promise<{ code: number; stdout: string; stderr: string }>;
  /** Starts the server; `systemctl restart` in a hook stops it and starts it again. */
  serve(server: Server): Promise<void>;
  /** `handover run`, which does the work of a rotation and runs the hooks. */
  run(): Promise<void>;
}

export interface Server {
  readonly command: readonly [string, ...string[]];
  readonly isUp: () => Promise<boolean>;
  /** User that the program runs as; undefined: the program sees to that itself. */
  readonly user?: string;
  readonly env?: Readonly<Record<string, string>>;
}

/** In milliseconds since 1970. */
export interface Span {
  readonly from: number;
  readonly to: number;
}

/** A hook's end is known; it began before. */
const HOOK_MS = 500;

/** The files under a heading of the page, by base name. */
const printed = (heading: string): ReadonlyMap<string, string> => {
  const section = readFileSync(PAGE, 'utf8')
    .split(/^## /m)
    .find((text) => text.startsWith(`${heading}\n`));
  const blocks = (section ?? '').matchAll(/^`([^`]+)`:\n\n```\w+\n([\s\S]*?)^```$/gm);
  const files = [...blocks].map(([, name = '', text = '']) => [basename(name), text] as const);
  if (files.length === 0) throw new Error(`docs/recipes/programs.md prints no files for ${heading}`);
  return new Map(files);
};

/** What differs from the page: where the files are, the ports, and less time than people need. */
const local = (text: string, dir: string, changes: Readonly<Record<string, string | number>>): string =>
  Object.entries(changes)
    .reduce((changed, [from, to]) => changed.replaceAll(from, String(to)), text)
    .replaceAll('/etc/handover', dir)
    .replaceAll(' /run/', ` ${dir}/run/`)
    .replaceAll('=/run/', `=${dir}/run/`)
    .replace('reloadWithin: 3m', 'reloadWithin: 1s');

const until = async (isTrue: () => Promise<boolean> | boolean, what: string): Promise<void> => {
  for (const deadline = Date.now() + 30_000; !(await isTrue()); ) {
    if (Date.now() > deadline) throw new Error(`${what} did not happen within 30 s`);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
};

/** A server that runs and is up. */
const up = async ({ command, isUp, user, env = {} }: Server): Promise<ChildProcess> => {
  const as = user === undefined ? [] : ['setpriv', `--reuid=${user}`, `--regid=${user}`, '--clear-groups'];
  const [program, ...args] = [...as, ...command] as [string, ...string[]];
  const child = started(
    spawn(program, args, { stdio: ['ignore', 'pipe', 'pipe'], env: { ...process.env, ...env } }),
  );
  let said = '';
  for (const stream of [child.stdout, child.stderr])
    stream?.on('data', (chunk) => {
      said = `${said}${chunk}`.slice(-2_000);
    });
  await until(() => {
    if (hasEnded(child)) throw new Error(`${command[0]} has ended: ${said}`);
    return isUp();
  }, `the start of ${command[0]}`);
  return child;
};

const hasEnded = (child: ChildProcess): boolean => child.exitCode !== null || child.signalCode !== null;

/** `systemctl restart UNIT` for hooks: this process restarts the server and answers when it is up. */
const systemctl = async (bin: string, restart: () => Promise<void>): Promise<void> => {
  const server = createServer((request, response) => {
    const answer = (status: number, text: string): void => void response.writeHead(status).end(text);
    if (!/^\/restart\/[a-z]+\.service$/.test(request.url ?? '')) return answer(404, 'unknown request');
    restart().then(
      () => answer(200, ''),
      (error: Error) => answer(500, error.message),
    );
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  const script = `#!/bin/sh\nexec curl -sSf --max-time 60 -X POST "http://127.0.0.1:${port}/$1/$2"\n`;
  writeFileSync(join(bin, 'systemctl'), script);
  chmodSync(join(bin, 'systemctl'), 0o755);
};

export const stageOf = async (
  heading: string,
  changes: Readonly<Record<string, string | number>>,
): Promise<Stage> => {
  const dir = directory();
  const bin = join(dir, 'bin');
  for (const folder of [bin, join(dir, 'run')]) mkdirSync(folder, { mode: 0o755 });
  for (const [name, text] of [...printed('Clients'), ...printed(heading)])
    writeFileSync(join(dir, name), local(text, dir, changes), { mode: 0o644 });
  const restarts: Span[] = [];
  let served: { readonly server: Server; child: ChildProcess } | undefined;
  await systemctl(bin, async () => {
    if (served === undefined) throw new Error('the server was never started');
    const from = Date.now();
    served.child.kill('SIGTERM');
    if (!hasEnded(served.child)) await once(served.child, 'exit');
    served.child = await up(served.server);
    restarts.push({ from, to: Date.now() });
  });
  let log = '';
  const env = { ...process.env, NO_COLOR: '1', PATH: `${bin}:/usr/sbin:${process.env.PATH ?? ''}` };
  const spawned = (...args: readonly string[]): ChildProcess =>
    spawn(process.execPath, [PROGRAM, ...args], { stdio: ['ignore', 'pipe', 'pipe'], env });
  return {
    dir,
    restarts,
    hooks: () =>
      [...log.matchAll(/^Hook of .* ran at (\S+)\.$/gm)].map(([, at = '']) => ({
        from: Date.parse(at) - HOOK_MS,
        to: Date.parse(at),
      })),
    client: {
      ca: join(dir, 'out/default/configmaps/internal-trust/ca.crt'),
      cert: join(dir, 'out/default/secrets/client/tls.crt'),
      key: join(dir, 'out/default/secrets/client/tls.key'),
    },
    async handover(...args) {
      const child = spawned(...args);
      const said = { stdout: '', stderr: '' };
      for (const name of ['stdout', 'stderr'] as const)
        child[name]?.on('data', (chunk) => {
          said[name] += chunk;
        });
      const [code] = await once(child, 'close');
      return { code, ...said };
    },
    async serve(server) {
      served = { server, child: await up(server) };
    },
    async run() {
      const child = started(spawned('run', dir));
      for (const stream of [child.stdout, child.stderr])
        stream?.on('data', (chunk) => {
          log += chunk;
        });
      await until(() => log.includes('\n'), 'the start of handover run');
    },
  };
};
