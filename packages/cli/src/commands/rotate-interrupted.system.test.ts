import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { systemClock } from '@handover/runtime/clock';
import { expect, test } from 'vitest';
import { handover as capture, type Ran } from '../../test/capture.ts';
import { authority, homeWith, leaf, shell } from '../../test/home.ts';
import { build, type Running, start } from '../../test/real-process.ts';

/** Less than the hook takes, and enough for a busy machine. */
const timeout = 60_000;
/** Quick until the file `slow` is there. */
const HOOK = 'echo $$ >> ran; test -e slow || exit 0; echo $$ > began; exec sleep 300';
/** In this process. A hook takes real time. */
const handover = (args: readonly string[], signal?: AbortSignal): Promise<Ran> =>
  capture(args, { clock: systemClock, signal });
const made = async (): Promise<string> => {
  const home = homeWith(authority('mesh'), leaf('web', { authority: 'mesh', reload: shell(HOOK) }));
  expect(await handover(['run', home, '--once'])).toMatchObject({ code: 0 });
  writeFileSync(join(home, 'slow'), '');
  return home;
};
const isAlive = (pid: number): boolean => {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
};
const rotate = (home: string, ...more: readonly string[]): readonly string[] => [
  ...['rotate', 'mesh', '--id', 'one', '--wait', '--home', `dir:${home}`],
  ...more,
];

test('an interrupt of rotate --wait ends a running hook, says how to wait again, and then the hook runs again', {
  timeout,
}, async () => {
  const home = await made();
  const stop = new AbortController();
  const ran = handover(rotate(home), stop.signal);
  await expect.poll(() => existsSync(join(home, 'began')), { timeout }).toBe(true);
  stop.abort();
  const { code, stderr } = await ran;
  expect(code).toBe(1);
  expect(stderr).toMatch(
    /ROTATION_UNFINISHED: waiting for default\/mesh was interrupted: .*handover rotate default\/mesh --id one --wait --home dir:/,
  );
  expect(isAlive(Number(readFileSync(join(home, 'began'), 'utf8')))).toBe(false);
  rmSync(join(home, 'slow'));
  const before = readFileSync(join(home, 'ran'), 'utf8');
  await handover(rotate(home));
  expect(readFileSync(join(home, 'ran'), 'utf8')).not.toBe(before);
});

test('rotate --wait --timeout ends a wait while a hook runs', { timeout }, async () => {
  const home = await made();
  const { code, stderr } = await handover(rotate(home, '--timeout', '1s'));
  expect(code).toBe(1);
  expect(stderr).toMatch(/ROTATION_UNFINISHED: waiting for default\/mesh took too long: .*--id one --wait/);
});

test('a second rotate says that another one runs, and with --wait goes on when the first has ended', async () => {
  build();
  const home = await made();
  const asked = (id: string, ...more: readonly string[]): Running =>
    start(['rotate', 'mesh', '--id', id, '--home', `dir:${home}`, ...more]);
  const first = asked('one', '--wait');
  await expect.poll(() => existsSync(join(home, 'began')), { timeout }).toBe(true);
  expect((await asked('two').ended(timeout)).stdout).toBe(
    `rotation two of default/mesh has been requested; rotation one comes first and is Introducing; another command (process ${first.child.pid}) works on this directory, and carries out its own request only; run \`handover run\`, or this command again with its id\n`,
  );
  const second = asked('two', '--wait');
  rmSync(join(home, 'slow'));
  first.child.kill('SIGINT');
  expect((await first.ended(timeout)).code).toBe(1);
  expect(await second.ended(timeout)).toMatchObject({
    code: 0,
    stdout: 'rotation two of default/mesh is complete\n',
  });
});
