import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { ERROR_LINE, handover } from '../test/capture.ts';
import { COMMANDS } from './commands.ts';
import { endingOf } from './error-line.ts';

const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'));

describe('help and version', () => {
  test('handover --version prints the version of the package', async () => {
    expect(await handover(['--version'])).toEqual({ code: 0, stdout: `${version}\n`, stderr: '' });
  });

  test('handover --help names every command and shows an example', async () => {
    const { code, stdout } = await handover(['--help']);
    expect(code).toBe(0);
    for (const name of Object.keys(COMMANDS)) expect(stdout).toContain(`  ${name}`);
    expect(stdout).toContain('$ handover ');
  });

  test.each(Object.keys(COMMANDS))(
    '%s has --json and help with an example, asked either way',
    async (name) => {
      const { code, stdout } = await handover([name, '--help']);
      expect(code).toBe(0);
      expect(stdout).toContain('--json');
      expect(stdout).toContain(`$ handover ${name} `);
      expect(await handover(['help', name])).toEqual({ code: 0, stdout, stderr: '' });
    },
  );

  test('handover without a command prints its help to stderr, exit 2', async () => {
    const { code, stdout, stderr } = await handover([]);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toContain('Usage: handover');
  });
});

test.each([
  [['inspct', 'x'], "USAGE: unknown command 'inspct'; did you mean inspect?; see `handover --help`"],
  [['frobnicate'], "USAGE: unknown command 'frobnicate'; see `handover --help`"],
  [['toString'], "USAGE: unknown command 'toString'; see `handover --help`"],
  [['help', 'nothing'], "USAGE: unknown command 'nothing'; see `handover --help`"],
  [['--bogus'], "USAGE: unknown option '--bogus'; see `handover --help`"],
  [['inspect'], "USAGE: missing required argument 'file'; see `handover inspect --help`"],
  [
    ['inspect', '--jsn', 'x'],
    "USAGE: unknown option '--jsn'; did you mean --json?; see `handover inspect --help`",
  ],
  [['simulate', '--seeds'], "USAGE: option '--seeds <n>' argument missing; see `handover simulate --help`"],
  [['simulate', 'extra'], /^USAGE: too many arguments.*see `handover simulate --help`\n$/],
])('wrong usage is one line and exit 2: %j', async (args, says) => {
  const { code, stdout, stderr } = await handover(args);
  expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
  if (typeof says === 'string') expect(stderr).toBe(`${says}\n`);
  else expect(stderr).toMatch(says);
  expect(stderr).toMatch(ERROR_LINE);
});

test('an unexpected error is one line without a stack', () => {
  const { line, exitCode } = endingOf(new TypeError('x is not\na function'), undefined);
  expect(line).toBe(
    'INTERNAL: x is not?a function; this is a bug in handover; please report it with the command you ran',
  );
  expect(exitCode).toBe(1);
});

test.each(Object.keys(COMMANDS).filter((name) => name !== 'check'))(
  'an error of %s with --json is one JSON document on stderr, usage errors too',
  async (name) => {
    const { code, stdout, stderr } = await handover([name, '--json', '--no-such-option']);
    expect(JSON.parse(stderr)).toEqual({
      error: { code: 'USAGE', message: expect.stringContaining(`see \`handover ${name} --help\``) },
    });
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
  },
);

test('an error about a missing home or an unknown command with --json is one JSON document on stderr', async () => {
  const { code, stderr } = await handover(['status', '--json', '--home', 'dir:/no/such/home']);
  expect(JSON.parse(stderr)).toMatchObject({
    error: { code: 'HOME_MISSING', message: expect.any(String) },
  });
  expect(code).toBe(1);
  expect(JSON.parse((await handover(['stauts', '--json'])).stderr)).toMatchObject({
    error: { code: 'USAGE' },
  });
});

test('an error is plain text if --json comes after --', async () => {
  const { stderr } = await handover(['status', '--home', 'dir:/no/such/home', '--', '--json']);
  expect(stderr).toMatch(/^[A-Z_]+: /);
});
