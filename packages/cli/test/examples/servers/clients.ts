import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { directory, started } from '../around.ts';
import { program } from '../programs.ts';

export interface Call {
  readonly port: number;
  readonly ca: string;
  readonly cert?: string;
  readonly key?: string;
  /** What the client says after the handshake, in hex. The server answers it. */
  readonly send?: string;
  readonly starttls?: 'mysql' | 'imap' | 'smtp';
}

/** A program that makes one handshake after another and tells each result: `ok`, or a problem in one line. */
export interface Client {
  readonly name: string;
  start(tell: (result: string) => void, signal: AbortSignal): void;
}

const path = (name: string): string => fileURLToPath(new URL(`clients/${name}`, import.meta.url));

const following = (
  name: string,
  make: () => readonly [command: string, ...args: readonly string[]],
): Client => ({
  name,
  start(tell, signal) {
    const [command, ...args] = make();
    const child = started(spawn(command, args, { stdio: ['ignore', 'pipe', 'inherit'] }));
    if (child.stdout === null) throw new Error('no output');
    createInterface({ input: child.stdout }).on('line', (line) => signal.aborted || tell(line));
    signal.addEventListener('abort', () => child.kill('SIGKILL'));
  },
});

/** `enter`: a command line that runs the client elsewhere. */
export const python = (call: Call, enter: readonly string[] = []): Client =>
  following('Python', () => {
    const [command = 'python3', ...rest] = [...enter, 'python3'];
    return [command, ...rest, path('client.py'), JSON.stringify(call)];
  });

export const go = (call: Call): Client =>
  following('Go', () => {
    const built = join(directory(), 'client');
    const { status, stderr } = spawnSync(program('golang-go'), ['build', '-o', built, path('client.go')], {
      encoding: 'utf8',
      cwd: tmpdir(),
    });
    if (status !== 0) throw new Error(stderr);
    return [built, JSON.stringify(call)];
  });

export const java = ({ port, ca, cert = '', key = '', send = '' }: Call): Client =>
  following('Java', () => ['java', '-Xmx64m', path('Client.java'), String(port), ca, cert, key, send]);

/** A broker that goes away in the middle of a call can leave its client waiting for good. */
const LONGEST_CALL_MS = 10_000;

/** A program that is started for each call, and so reads its files each time. */
export const perCall = (name: string, command: string, args: readonly string[], input = ''): Client => ({
  name,
  start(tell, signal) {
    const loop = async (): Promise<void> => {
      while (!signal.aborted) {
        const child = spawn(command, args, { stdio: ['pipe', 'pipe', 'pipe'], timeout: LONGEST_CALL_MS });
        const result = await ended(child, input);
        if (!signal.aborted) tell(result);
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
    };
    void loop();
  },
});

/** A request that every HTTP server answers, in hex. */
export const GET = Buffer.from('GET / HTTP/1.0\r\n\r\n').toString('hex');

export const curl = ({ port, ca, cert = '', key = '' }: Call): Client =>
  perCall('curl', program('curl'), [
    '-sS',
    '--cacert',
    ca,
    '--cert',
    cert,
    '--key',
    key,
    `https://localhost:${port}/`,
  ]);

const ended = async (child: ChildProcess, input: string): Promise<string> => {
  let said = '';
  for (const stream of [child.stdout, child.stderr])
    stream?.on('data', (chunk) => {
      said += chunk;
    });
  child.stdin?.on('error', () => {}); // the program did not read it
  child.stdin?.end(input);
  const [code, signal] = await once(child, 'close');
  if (signal !== null) return `no answer: ${said.replace(/\s+/g, ' ').trim()}`;
  return code === 0 ? 'ok' : `exit ${code}: ${said.replace(/\s+/g, ' ').trim()}`;
};

/** Whether a port of this machine takes connections. */
export const accepts = (port: number) => (): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect({ port, host: '127.0.0.1' });
    const end = (isUp: boolean): void => {
      socket.destroy();
      resolve(isUp);
    };
    socket.on('connect', () => end(true)).on('error', () => end(false));
  });
