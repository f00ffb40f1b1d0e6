import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { EVIDENCE_KINDS } from '@handover/core';
import { expect, test } from 'vitest';
import { COMMANDS } from '../commands.ts';
import { defined } from './commands.ts';
import { ERROR_CODES } from './error-codes.ts';
import { manPage } from './man.ts';
import { referencePages } from './reference.ts';

const path = (relative: string): string => fileURLToPath(new URL(`../../../../${relative}`, import.meta.url));
const STALE = 'is not what the code says; run `npm run generate`';

test('docs/reference is as the code generates it', async () => {
  const made = await referencePages();
  // runtime.md is made from TSDoc: scripts/tsdoc/tsdoc.test.mjs
  expect(readdirSync(path('docs/reference')).sort(), STALE).toEqual(
    [...Object.keys(made), 'runtime.md'].sort(),
  );
  for (const [name, text] of Object.entries(made)) {
    const file = path(`docs/reference/${name}`);
    expect(existsSync(file) && readFileSync(file, 'utf8') === text, `docs/reference/${name} ${STALE}`).toBe(
      true,
    );
    expect(text).not.toContain('undefined');
    expect(text).not.toContain('not served');
  }
});

test('every error code is explained in two sentences', () => {
  for (const [code, { means, todo }] of Object.entries(ERROR_CODES)) {
    expect(means, code).toMatch(/\.$/);
    expect(todo, code).toMatch(/\.$/);
  }
});

test.each(['how-a-rotation-works.md', 'decisions/0001-pure-planner-and-evidence.md', 'glossary.md'])(
  'docs/%s lists evidence strongest first, as the planner does',
  (name) => {
    const text = readFileSync(path(`docs/${name}`), 'utf8').split(/\*\*Evidence\*\*|## Evidence/)[1] ?? '';
    const named = [...text.matchAll(/`([a-z]+)`/g)].map(([, kind]) => kind);
    const kinds = EVIDENCE_KINDS.slice(0, EVIDENCE_KINDS.indexOf('settled') + 1);
    expect([...new Set(named)].filter((kind) => kinds.some((known) => known === kind))).toEqual(kinds);
  },
);

/** Commands of ours in a line of shell; what goes into a file, or comes from other programs, is left out. */
const callsIn = (line: string): readonly (readonly string[])[] =>
  line
    .split(/&&|\|/)
    .map((part) => part.replace(/ >.*$/, '').trim())
    .filter((part) => part.startsWith('handover '))
    .map((part) => part.split(/\s+/).slice(1));

test('every example in a help is accepted by its command', async () => {
  const examples = [
    ...((await referencePages())['commands.md'] ?? '').matchAll(/Examples:\n\n```text\n([^`]*)```/g),
  ]
    .flatMap(([, text = '']) => text.trim().split('\n'))
    .flatMap(callsIn);
  expect(examples.length).toBeGreaterThan(30);
  for (const [name = '', ...args] of examples) {
    const command = (await defined(name)).exitOverride().action(() => undefined);
    command.configureOutput({ writeErr: () => undefined });
    await expect(
      command.parseAsync(args, { from: 'user' }),
      `handover ${name} ${args.join(' ')}`,
    ).resolves.toBe(command);
  }
});

type Parse = (value: string, previous: unknown) => unknown;
const read = (parse: Parse | undefined, text: string): unknown => {
  try {
    return parse?.(text, undefined);
  } catch {
    return 'refused';
  }
};
/** Whether a flag takes lengths of time: it reads one, and refuses a word. */
const takesTime = (parse: Parse | undefined): boolean =>
  read(parse, '90s') === 90_000 && read(parse, 'a while') === 'refused';

test('every flag that takes a length of time shows its units', async () => {
  const lengths: string[] = [];
  for (const name of Object.keys(COMMANDS))
    for (const { flags, description, parseArg } of (await defined(name)).options)
      if (takesTime(parseArg)) lengths.push(`${name} ${flags}: ${description}`);
  expect(lengths.length).toBeGreaterThanOrEqual(5);
  for (const line of lengths) expect(line).toMatch(/ <duration>: .*\b\d+(ms|s|m|h|d)\b/);
});

test('the man page has every command and flag, in ASCII, with requests that man knows and no others', async () => {
  const text = await manPage('1.2.3');
  expect(text).toMatch(/^[\n -~]*$/);
  const requests = [...text.matchAll(/^[.']\S*/gm)].map(([request]) => request);
  expect(new Set(requests)).toEqual(
    new Set(['.TH', '.SH', '.SS', '.B', '.I', '.PP', '.TP', '.RS', '.RE', '.nf', '.fi']),
  );
  for (const name of Object.keys(COMMANDS)) {
    expect(text).toContain(`\n.SS handover ${name.replaceAll('-', '\\-')}\n`);
    for (const { long } of (await defined(name)).options)
      expect(text).toContain((long ?? '').replaceAll('-', '\\-'));
  }
});
