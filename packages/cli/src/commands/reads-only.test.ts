import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { day, instant, minute } from '@handover/material';
import { expect, onTestFinished, test } from 'vitest';
import { handover, NOW } from '../../test/capture.ts';
import { newHome } from '../../test/home.ts';
import { tlsServer } from '../../test/tls-server.ts';

/** Every file of a folder with its content and its age. */
const contents = (folder: string): readonly string[] =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => {
      const path = join(entry.parentPath, entry.name);
      const hash = createHash('sha256').update(readFileSync(path)).digest('hex');
      return `${path} ${hash} ${statSync(path).mtimeMs}`;
    })
    .sort();

const canariesIn = (dir: string): number =>
  readdirSync(join(dir, 'state/log')).reduce(
    (count, name) => count + readFileSync(join(dir, 'state/log', name), 'utf8').split('"canary"').length - 1,
    0,
  );

test('status, plan, check, verify and distrust without --yes change nothing on the disk and issue nothing, and show what run saw', async () => {
  const dir = newHome();
  const at = (ms: number, ...args: readonly string[]) =>
    handover([...args, '--home', `dir:${dir}`], { now: instant(NOW + ms) });
  const pass = (ms = 0) => handover(['run', dir, '--once'], { now: instant(NOW + ms) });
  await handover(['init', dir]);
  await pass();
  const secret = (name: string) => readFileSync(join(dir, 'out/default/secrets/web', name), 'utf8');
  const mtls = { requestCert: true, rejectUnauthorized: true, ca: secret('ca.crt') };
  const { port, server } = await tlsServer({ cert: secret('tls.crt'), key: secret('tls.key'), ...mtls });
  onTestFinished(() => void server.close());
  const file = join(dir, 'handover.yaml');
  const consumer = `{name: web, presents: true, verifies: true, leaf: web, probe: {address: "127.0.0.1:${port}", mtls: true}}`;
  writeFileSync(
    file,
    readFileSync(file, 'utf8').replace('\nspec:\n', `\nspec:\n  consumers: [${consumer}]\n`),
  );
  await pass(minute);
  const canaries = canariesIn(dir);
  expect(canaries).toBeGreaterThan(0);
  const before = contents(dir);
  for (const command of [
    ['status'],
    ['plan'],
    ['check'],
    ['verify'],
    ['distrust', 'internal', '--generation', '1'],
  ])
    expect((await at(10 * minute, ...command)).stdout).not.toBe('');
  expect(contents(dir)).toEqual(before);
  const { authorities } = JSON.parse((await at(10 * minute, 'status', '--json')).stdout);
  expect(authorities[0].consumers[0]).toMatchObject({
    evidence: 'probed',
    shows: [{ state: 'newest', since: new Date(NOW + minute).toISOString() }],
  });
  expect((await at(10 * minute, 'check')).code).toBe(0);
  // The process that works issues again.
  await pass(day);
  expect(canariesIn(dir)).toBeGreaterThan(canaries);
});
