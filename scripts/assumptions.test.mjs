import { readdirSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { mutants } from '../packages/sim/src/modelcheck/mutants.ts';
import { worlds } from '../packages/sim/src/modelcheck/worlds.ts';
import { mutantsIn, problems, problemsIn, worldsIn } from './assumptions.mjs';

const PAGE = `# Assumptions

### Pods are found

A sentence for people.

- **Code**: \`core/src/plan/gates.ts\` \`gateOne\`
- **World**: \`two pods\`
- **Test**: \`a gate waits for a pod\` (\`gates.test.ts\`)
- **Mutants**: \`gate 1 is open\`; \`gate 2 is open\`
- **Noticed**: not.
- **Do**: nothing.
`;
const FILES = {
  'packages/core/src/plan/gates.ts': 'export const gateOne = () => [];\n',
  'gates.test.ts': "test('a gate waits for a pod', () => {});\n",
};
const KNOWN = {
  mutants: ['gate 1 is open', 'gate 2 is open'],
  worlds: ['two pods'],
  read: (file) => FILES[file],
};
const said = (page, known = KNOWN) =>
  problemsIn(page, known).map((problem) => problem.replace('docs/assumptions.md: ', ''));

test('the page of assumptions names every rule of the planner once, and nothing that does not exist', () => {
  expect(problems()).toEqual([]);
});

test('a page of assumptions on which all is well has no problems', () => {
  expect(said(PAGE)).toEqual([]);
});

test('a rule without a row of the page of assumptions, and one with two, are problems', () => {
  expect(said(PAGE, { ...KNOWN, mutants: [...KNOWN.mutants, 'caches are ignored'] })).toEqual([
    'the rule that this mutant removes stands in no row: caches are ignored',
  ]);
  const again = '\n### Again\n\n- **Code**: –\n- **World**: –\n- **Mutants**: `gate 1 is open`\n';
  expect(said(`${PAGE}${again}- **Noticed**: –\n- **Do**: –\n`)).toEqual([
    'the rule that this mutant removes stands in 2 rows: gate 1 is open',
  ]);
});

test.each([
  ['two pods', 'three pods', 'there is no world "three pods"'],
  ['; `gate 2 is open`', '; `gate 2 is open`; `gone`', 'there is no mutant "gone"'],
  ['a gate waits for a pod', 'a gate waits', 'gates.test.ts has no test "a gate waits"'],
  ['`gateOne`', '`gateTwo`', 'packages/core/src/plan/gates.ts does not define gateTwo'],
  ['plan/gates.ts', 'plan/gone.ts', 'packages/core/src/plan/gone.ts does not define gateOne'],
  ['- **Noticed**: not.\n', '', 'says nothing under "Noticed"'],
  [/- \*\*(World|Test)\*\*.*\n/g, '', 'names no World and no Test that breaks without it'],
])('a row of the page of assumptions with %s changed to %s is a problem', (from, to, problem) => {
  expect(said(PAGE.replace(from, to))).toEqual([`Pods are found: ${problem}`]);
});

test('the check of the assumptions reads the names of every world and mutant in the sources', () => {
  const folder = 'packages/sim/src/modelcheck';
  const texts = readdirSync(folder).map((file) => readFileSync(`${folder}/${file}`, 'utf8'));
  const sorted = (names) => [...names].sort();
  expect(sorted(texts.flatMap(mutantsIn))).toEqual(sorted(mutants.map(({ name }) => name)));
  const found = texts.flatMap(worldsIn);
  expect(worlds.map(({ name }) => name).filter((name) => !found.includes(name))).toEqual([]);
});
