import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';

/** Replaces files of a folder, the key first, each by a rename; the certificate and its key are checked together by their reader. */
export const put = (folder, { ca, leaf }) => {
  const files = { 'tls.key': leaf?.key, 'tls.crt': leaf?.cert, 'ca.crt': ca };
  for (const [name, text] of Object.entries(files)) {
    if (text === undefined) continue;
    writeFileSync(join(folder, `${name}.tmp`), text, { mode: name === 'tls.key' ? 0o600 : 0o644 });
    renameSync(join(folder, `${name}.tmp`), join(folder, name));
  }
};

/** An error, its causes and what it joins, in one line. */
export const wordsOf = (error) => {
  if (error === undefined || error === null) return '';
  const parts = [error.cause, ...(error.errors ?? [])].map(wordsOf);
  return [error.code, error.message ?? error, ...parts].filter(Boolean).join(' ');
};

export const text = async (readable) => {
  let all = '';
  for await (const chunk of readable) all += chunk;
  return all;
};

export const mustBe = (wanted) => (said) => {
  if (said !== wanted) throw new Error(`unexpected answer: ${said}`);
};

const isFree = (port) =>
  new Promise((resolve) => {
    const server = createServer()
      .once('error', () => resolve(false))
      .listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
  });

/** A port below those that the kernel gives to outgoing connections: clients of other groups could take it before the server does. */
export const freePort = async () => {
  for (let tries = 0; tries < 100; tries++) {
    const port = 12_000 + Math.floor(Math.random() * 20_000);
    if (await isFree(port)) return port;
  }
  throw new Error('no free port');
};

/** Repeats until it does not throw. */
export const eventually = async (attempt) => {
  for (const late = Date.now() + 60_000; ; ) {
    try {
      return await attempt();
    } catch (error) {
      if (Date.now() > late) throw error;
      await new Promise((tick) => setTimeout(tick, 50));
    }
  }
};

/** A server program; ended with this process, if not before. `said` waits for words in its output. */
export const startProgram = (command, args, options = {}) => {
  // A group of its own: a server may be started by a script.
  const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'], detached: true, ...options });
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (more) => {
      output += more;
    });
  const ended = once(child, 'close');
  process.on('exit', () => {
    if (child.exitCode === null) process.kill(-child.pid, 'SIGKILL');
  });
  return {
    child,
    get output() {
      return output;
    },
    count: (words) => output.split(words).length - 1,
    async said(words, times = 1) {
      for (const late = Date.now() + 60_000; output.split(words).length - 1 < times; ) {
        if (Date.now() > late || child.exitCode !== null)
          throw new Error(`${command} never said ${words}: ${output}`);
        await new Promise((tick) => setTimeout(tick, 10));
      }
    },
    async end(signal = 'SIGTERM') {
      child.kill(signal);
      await ended;
    },
  };
};

/** Path of a server's program, by Debian package. */
export const program = (name) => JSON.parse(process.env.PROGRAMS)[name];

/** The client's leaf that a server with these files takes: of the newest CA that it trusts. */
export const newestClient = (files, { cas, clients }) => ({
  ...clients[readFileSync(join(files, 'ca.crt'), 'utf8').includes(cas[1]) ? 1 : 0],
  ca: cas.join(''),
});

// So that programs end with this process.
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => process.exit(1));
