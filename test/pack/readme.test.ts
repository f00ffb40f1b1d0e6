import { mkdirSync, mkdtempSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { TLSSocket } from 'node:tls';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { setStage } from '../../scripts/tsdoc/stage.mjs';
import { ROOT } from './src/install.ts';
import { programs } from './src/project.ts';
import { start } from './src/run.ts';

const cwd = programs();
const { bare } = inject('installed');

/** The examples in the README of a package, as it is installed in a folder. */
const snippetsOf = (name: string, project: string) => {
  const readme = readFileSync(join(project, 'node_modules', name, 'README.md'), 'utf8');
  return [...readme.matchAll(/```js\n([\s\S]*?)```/g)].map(
    ([, code = ''], index) => [index, name, project, code] as const,
  );
};
const ofRuntime = snippetsOf('@handover/runtime', cwd);
const ofCommand = snippetsOf('handover', bare);

/** Text that a snippet says it prints: the comment behind a line with console.log at the margin. */
const promisedBy = (code: string): readonly string[] =>
  [...code.matchAll(/^(?!trust\.on).*console\.log\(.*; \/\/ (.+)$/gm)].map(([, text = '']) => text);

/** Imports the snippet, and ends once it has printed as many lines as promised. */
const RUNNER = `
const [file, count] = process.argv.slice(2);
const lines = [];
const end = (code) => process.stdout.write(JSON.stringify(lines), () => process.exit(code));
console.log = (...words) => lines.push(words.join(' ')) === Number(count) && setImmediate(end, 0);
process.on('uncaughtException', (error) => { process.stderr.write(String(error.stack)); end(1); });
setTimeout(end, 60_000, 1);
await import(file);
if (Number(count) === 0) end(0);
`;

const folder = mkdtempSync(join(cwd, 'readme-'));
let stage: Awaited<ReturnType<typeof setStage>>;
let database: ReturnType<typeof createServer>;

beforeAll(async () => {
  stage = await setStage(folder);
  writeFileSync(join(folder, 'annotations'), '');
  writeFileSync(join(folder, 'run.mjs'), RUNNER);
  const leaf = { cert: readFileSync(join(folder, 'tls.crt')), key: readFileSync(join(folder, 'tls.key')) };
  // PostgreSQL's start: plain, then TLS, then ready. A stand-in.
  database = createServer((socket) => {
    socket.once('data', () => {
      socket.write('S');
      const secure = new TLSSocket(socket, { isServer: true, ...leaf });
      secure.on('error', () => undefined);
      secure.once('data', () => secure.write(Buffer.from('R\0\0\0\x08\0\0\0\0Z\0\0\0\x05I', 'latin1')));
    });
  });
  await new Promise<void>((listening) => database.listen(0, '127.0.0.1', listening));
  mkdirSync(join(cwd, 'node_modules/@kubernetes'), { recursive: true });
  symlinkSync(join(ROOT, 'node_modules/client-node-1'), join(cwd, 'node_modules/@kubernetes/client-node'));
});
afterAll(async () => {
  database.close();
  await stage.end();
});

test('there are examples', () => {
  expect(ofRuntime.length).toBeGreaterThanOrEqual(7);
  expect(ofCommand.length).toBeGreaterThanOrEqual(1);
});

test.each([...ofRuntime, ...ofCommand])(
  'example %i of the README of %s runs alone, and prints what it says',
  async (index, _name, project, code) => {
    const { port } = database.address() as { port: number };
    const file = join(mkdtempSync(join(project, 'readme-')), `example-${index}.mjs`);
    writeFileSync(
      file,
      stage
        .adapt(code)
        .replaceAll("host: 'db'", `host: 'localhost', port: ${port}`)
        .replaceAll('listen(8080)', "listen(0, '127.0.0.1')"),
    );
    const promised = promisedBy(code);
    expect(promised.length).toBeGreaterThan(0);
    const runner = [join(folder, 'run.mjs'), file, `${promised.length}`];
    const ended = await start(project, process.execPath, runner, stage.env).ended;
    expect(ended).toMatchObject({ code: 0 });
    expect(JSON.parse(ended.stdout).sort()).toEqual([...promised].sort());
  },
);
