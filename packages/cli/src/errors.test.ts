import { appendFileSync, chmodSync, cpSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { temporaryFolder } from '@handover/test-api-server';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { handover } from '../test/capture.ts';
import { newHome } from '../test/home.ts';

const BIN = fileURLToPath(new URL('../bin/handover.js', import.meta.url));
const root = temporaryFolder({ inMemory: true });
const taken = createServer();

beforeAll(async () => {
  await new Promise<void>((listening) => taken.listen(0, '127.0.0.1', listening));
  await handover(['init', join(root, 'good')]);
  await handover(['run', join(root, 'good'), '--once']);
});
afterAll(() => void taken.close());

/** A home that was well until `spoil`. */
const homeAfter = (spoil: (dir: string) => void): string => {
  const dir = newHome();
  cpSync(join(root, 'good'), dir, { recursive: true, verbatimSymlinks: true });
  spoil(dir);
  return dir;
};
const yaml = (edit: (text: string) => string) => (dir: string) => {
  const file = join(dir, 'handover.yaml');
  writeFileSync(file, edit(readFileSync(file, 'utf8')));
};
const authorityFile = (dir: string): string => join(dir, 'state/authorities/default/internal.json');
const untouched = (): void => {};

interface Case {
  readonly name: string;
  /** `DIR` stands for the home. */
  readonly args: readonly string[];
  readonly spoil?: (dir: string) => void;
  readonly code: 1 | 2;
  readonly says: RegExp;
}

const run = ['run', 'DIR', '--once'] as const;
const home = ['--home', 'dir:DIR'] as const;
const CASES: readonly Case[] = [
  // Wrong usage.
  {
    name: 'an unknown command',
    args: ['statsu'],
    code: 2,
    says: /unknown command 'statsu'; did you mean status\?; see/,
  },
  {
    name: 'an unknown flag',
    args: ['status', '--jsno'],
    code: 2,
    says: /did you mean --json\?; see `handover status --help`/,
  },
  { name: 'a missing argument', args: ['rotate'], code: 2, says: /missing required argument 'auth'; see/ },
  { name: 'too many arguments', args: ['run', 'a', 'b'], code: 2, says: /too many arguments.*; see/ },
  { name: 'a flag without its value', args: ['rotate', 'a', '--id'], code: 2, says: /argument missing; see/ },
  {
    name: 'a required flag left out',
    args: ['distrust', 'a'],
    code: 2,
    says: /--generation <n>' not specified; see/,
  },
  {
    name: 'a value that is none of the choices',
    args: ['simulate', '--strategy', 'x'],
    code: 2,
    says: /Allowed choices are phased.*; see/,
  },
  {
    name: 'a bad duration on the command line',
    args: ['rotate', 'a', '--timeout', 'soon'],
    code: 2,
    says: /--timeout: "soon" is not a duration; write it like 90s/,
  },
  { name: 'a number out of range', args: ['demo', '--rotations', '0'], code: 2, says: /--rotations.*; / },
  {
    name: 'a home of no kind',
    args: ['status', '--home', 'etc'],
    code: 2,
    says: /unknown value "etc" for --home; write dir:PATH/,
  },
  {
    name: 'two sources of resources',
    args: ['certgen', '--preset', 'envoy-gateway', '-f', 'x'],
    code: 2,
    says: /--preset and -f both name resources; give one of them/,
  },
  // The directory.
  {
    name: 'a directory that is not there',
    args: ['run', '/nonexistent/x'],
    code: 1,
    says: /^HOME_MISSING: .*; make one with handover init/,
  },
  {
    name: 'a file for a directory',
    args: ['run', BIN],
    code: 1,
    says: /^HOME_MISSING: .* is a file; name a directory/,
  },
  {
    name: 'a home below a file',
    args: ['init', `${BIN}/x`],
    code: 1,
    says: /^HOME_MALFORMED: .*; move it away/,
  },
  {
    name: 'a directory without resources',
    args: ['run', 'DIR'],
    spoil: (dir) => rmSync(join(dir, 'handover.yaml')),
    code: 1,
    says: /^HOME_EMPTY: .*; start with handover init/,
  },
  {
    name: 'a directory that others may write',
    args: run,
    spoil: (dir) => chmodSync(dir, 0o777),
    code: 1,
    says: /^HOME_WRITABLE_BY_OTHERS: .*; chmod go-w .*, and check the contents/,
  },
  {
    name: 'state that others may read',
    args: run,
    spoil: (dir) => chmodSync(join(dir, 'state'), 0o755),
    code: 1,
    says: /^HOME_STATE_EXPOSED: .*; chmod 0700 .*, and replace the keys/,
  },
  {
    name: 'init in a directory with files',
    args: ['init', 'DIR'],
    code: 1,
    says: /^HOME_NOT_EMPTY: .*; edit it, or choose another/,
  },
  // The YAML.
  {
    name: 'a file that is not YAML',
    args: run,
    spoil: yaml((text) => text.replace('[localhost]', '[localhost')),
    code: 1,
    says: /^YAML_INVALID: handover\.yaml:\d+:\d+: .*; correct the YAML there/,
  },
  {
    name: 'an unknown kind',
    args: run,
    spoil: yaml((text) => text.replace('kind: Leaf', 'kind: Leef')),
    code: 1,
    says: /^RESOURCE_INVALID: handover\.yaml:\d+:\d+: .*did you mean Leaf/,
  },
  {
    name: 'an unknown field',
    args: run,
    spoil: yaml((text) => text.replace('dnsNames', 'dnsName')),
    code: 1,
    says: /^RESOURCE_INVALID: .*did you mean dnsNames/,
  },
  {
    name: 'a bad duration in YAML',
    args: run,
    spoil: yaml((text) => text.replace('lifetime: 5y', 'lifetime: soon')),
    code: 1,
    says: /^RESOURCE_INVALID: .*lifetime.*soon.*; /,
  },
  {
    name: 'a resource that is declared twice',
    args: run,
    spoil: (dir) => cpSync(join(dir, 'handover.yaml'), join(dir, 'more.yaml')),
    code: 1,
    says: /^RESOURCE_\w+: .*more\.yaml:\d+:\d+.*; /,
  },
  {
    name: 'two resources that would write one object',
    args: run,
    spoil: (dir) =>
      appendFileSync(
        join(dir, 'handover.yaml'),
        '---\napiVersion: handover.dev/v1alpha1\nkind: Leaf\nmetadata: {name: other}\nspec: {authority: internal, secretName: web, dnsNames: [x]}\n',
      ),
    code: 1,
    says: /^RESOURCE_CONFLICT: .*would both write .*; give one of them another name/,
  },
  {
    name: 'a file of resources that is not there',
    args: ['certgen', '-f', '/nonexistent/x.yaml', ...home],
    code: 1,
    says: /^FILE_MISSING: .*; correct the path/,
  },
  // What is asked for.
  {
    name: 'no such authority',
    args: ['rotate', 'x/y', ...home],
    code: 1,
    says: /^AUTHORITY_UNKNOWN: there is no authority x\/y; there is default\/internal/,
  },
  {
    name: 'status of no such authority',
    args: ['status', 'x/y', ...home],
    code: 1,
    says: /^AUTHORITY_UNKNOWN: /,
  },
  {
    name: 'no such generation',
    args: ['distrust', 'internal', '--generation', '7', ...home],
    code: 1,
    says: /^GENERATION_UNKNOWN: .*; it has 1 \(current\)/,
  },
  {
    name: 'an invalid rotation id',
    args: ['rotate', 'internal', '--id', 'a b', ...home],
    code: 1,
    says: /^ROTATION_ID_INVALID: .*; use up to 128/,
  },
  {
    name: 'a port that is taken',
    args: ['demo', '--port', 'PORT'],
    code: 1,
    says: /^PORT_TAKEN: .*; choose another with --port/,
  },
  {
    name: 'a file to inspect that is not there',
    args: ['inspect', '/nonexistent/ca.pem'],
    code: 1,
    says: /^FILE_MISSING: .*; correct the path/,
  },
  // What was kept.
  {
    name: 'a clock that is behind the certificates',
    args: run,
    spoil: (dir) =>
      writeFileSync(
        authorityFile(dir),
        readFileSync(authorityFile(dir), 'utf8').replace(
          /"since": (\d+)/g,
          (_, at) => `"since": ${Number(at) + 86_400_000}`,
        ),
      ),
    code: 1,
    says: /^CLOCK_BEHIND: the clock says .*; set the clock/,
  },
  {
    name: 'state that cannot be read',
    args: run,
    spoil: (dir) => writeFileSync(authorityFile(dir), '{'),
    code: 1,
    says: /^STATE_UNREADABLE: .*; restore it from a backup/,
  },
];

test.for(CASES)(
  'a mistake ends in one line that says what to do: $name',
  async ({ args, spoil = untouched, code, says }) => {
    const dir = args.some((arg) => arg.includes('DIR')) ? homeAfter(spoil) : root;
    const { port } = taken.address() as AddressInfo;
    const given = args.map((arg) => arg.replace('DIR', dir).replace('PORT', String(port)));
    const ended = await handover(given);
    expect(ended.stderr).toMatch(/^[A-Z][A-Z_]+: [^\n]+; [^\n]+\n$/);
    expect(ended.stderr).toMatch(code === 2 ? new RegExp(`^USAGE: .*${says.source}`) : says);
    expect(ended.code).toBe(code);
    expect(ended.stdout).toMatch(/^(read \d[\s\S]*)?$/);
  },
);

test('a rotation that is requested without a running process begins, and the answer says how to continue', async () => {
  const dir = homeAfter(untouched);
  const ended = await handover(['rotate', 'internal', '--id', 'q1', '--home', `dir:${dir}`]);
  expect(ended).toEqual({
    code: 0,
    stdout:
      'rotation q1 of default/internal is Introducing; run `handover run`, or this command again with its id\n',
    stderr: '',
  });
  const late = await handover([
    'rotate',
    'internal',
    '--id',
    'q1',
    '--wait',
    '--timeout',
    '1ms',
    '--home',
    `dir:${dir}`,
  ]);
  expect(late.code).toBe(1);
  expect(late.stderr).toMatch(
    /^Introducing, [^\n]*\nROTATION_UNFINISHED: waiting for default\/internal took too long: [^\n]*\n$/,
  );
  expect(late.stderr).toContain(
    `; it goes on without this command wherever \`handover run\` or an operator runs; to wait for it again: handover rotate default/internal --id q1 --wait --home dir:${dir}\n`,
  );
});
