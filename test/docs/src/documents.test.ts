import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { plain, stepsOf } from './commands.ts';
import { blocksIn, DOCUMENTS, isStepOfCi, ROOT, stepsIn } from './documents.ts';
import { difference } from './expected.ts';
import { STAGES } from './stages.ts';
import { NOT_RUN, RUN_ELSEWHERE } from './tables.ts';

/** Blocks in other languages hold no commands. */
const LANGUAGES = [
  'sh',
  'text',
  'yaml',
  'json',
  'ts',
  'js',
  'java',
  'conf',
  'promql',
  'go',
  'python',
  'rust',
];

describe.each(DOCUMENTS)('%s', (document) => {
  test(`${document} has commands only in sh blocks, so that none is left out`, () => {
    for (const { language, text, line } of blocksIn(document)) {
      expect(LANGUAGES, `${document}:${line}`).toContain(language);
      if (language !== 'sh') expect(text, `${document}:${line}`).not.toMatch(/^\s*\$ /m);
    }
  });

  test('S1.1 a document reads no ConfigMap or Secret into an environment: such a container needs the API server at each start', () => {
    for (const { text, line } of blocksIn(document))
      expect(text, `${document}:${line}`).not.toMatch(/\b(envFrom|configMapKeyRef|secretKeyRef):/);
  });

  test(`${document} has commands that can be split`, () => {
    expect(() => stepsIn(document)).not.toThrow();
  });
});

test('every skipped command is still in a document, and has a reason', () => {
  for (const [document, command, reason] of NOT_RUN) {
    expect(reason.length, command).toBeGreaterThan(10);
    expect(stepsIn(document).map(plain), document).toContain(command);
  }
  expect(NOT_RUN.length).toBeLessThanOrEqual(8);
});

test('a document that other tests run exists, and so do these tests', () => {
  for (const [document, tests] of Object.entries(RUN_ELSEWHERE))
    expect([document, ...tests].filter((path) => !existsSync(join(ROOT, path)))).toEqual([]);
});

test('every stage of commands belongs to a document', () => {
  expect(Object.keys(STAGES).filter((document) => !DOCUMENTS.includes(document))).toEqual([]);
});

test('a step of .ci/run is recognised by its line', () => {
  expect(isStepOfCi('npm test')).toBe(true);
  expect(isStepOfCi('npm ci')).toBe(true);
  expect(isStepOfCi('npm run format')).toBe(false);
});

test('a command in a document may span lines, here-documents and comments', () => {
  const text = "# first\na \\\n  b\ncat <<'EOF' >x\none\n\ntwo\nEOF\nfalse # that is exit 1\n";
  expect(stepsOf(text, 10).map(({ text: step, line, exitCode }) => [step, line, exitCode])).toEqual([
    ['a \\\n  b', 11, 0],
    ["cat <<'EOF' >x\none\n\ntwo\nEOF", 13, 0],
    ['false # that is exit 1', 18, 1],
  ]);
});

test('outputs of commands are compared without numbers, times and hashes', () => {
  expect(difference('a 1 …\n…\nlast 0.5 s', 'a  22 and more\nx\ny\nlast 17 s\n')).toBeUndefined();
  expect(difference('until 2030-01-01T00:00:00Z', 'until 2031-02-03T04:05:06.789Z')).toBeUndefined();
  expect(difference('Stable', 'Retiring\n')).toContain('Retiring');
});
