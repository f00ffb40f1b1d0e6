import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { ANNOTATIONS } from '@handover/core';
import { expect, test } from 'vitest';
import { defined } from './commands.ts';
import { ERROR_CODES } from './error-codes.ts';
import { reference } from './reference.ts';

const path = (relative: string): string => fileURLToPath(new URL(`../../../../${relative}`, import.meta.url));
const STALE = 'is not what the code says; run `npm run generate`';

test('docs/reference is what the code says', async () => {
  const made = await reference();
  expect(readdirSync(path('docs/reference')).sort(), STALE).toEqual(Object.keys(made).sort());
  for (const [name, text] of Object.entries(made)) {
    const file = path(`docs/reference/${name}`);
    expect(existsSync(file) && readFileSync(file, 'utf8') === text, `docs/reference/${name} ${STALE}`).toBe(
      true,
    );
    expect(text).not.toContain('undefined');
    expect(text).not.toContain('not served');
  }
});

/** Sources that users run, by path from the root, without the simulator and fakes. */
const SOURCES: ReadonlyMap<string, string> = new Map(
  readdirSync(path('packages'), { recursive: true, encoding: 'utf8' })
    .filter((name) => /^[a-z]+\/src\/.*\.ts$/.test(name) && !name.endsWith('.test.ts'))
    .filter((name) => !/^sim\/|\/testing\/|^cli\/src\/reference\//.test(name))
    .map((name) => [name, readFileSync(path(`packages/${name}`), 'utf8')]),
);

const LITERAL = /'([A-Z][A-Z0-9]*_[A-Z0-9_]+)'/g;
const found = (text: string, pattern: RegExp): readonly string[] =>
  [...text.matchAll(pattern)].map(([, name = '']) => name);

/** Codes of one file: those written where an error is made, the union in `error.ts`, and where a variable stands, every code that the file names. */
const codesIn = (name: string, text: string): readonly string[] => {
  if (/^[a-z]+\/src\/error\.ts$/.test(name) && text.includes('HandoverError<')) return found(text, LITERAL);
  return [...text.matchAll(/new [A-Z][A-Za-z]*Error\(\s*([^\s,]+)/g)].flatMap(([all, first = '']) => {
    if (!/new (Handover|Core|Engine|Operator|Install|Cli|Dashboard|Kube|Runtime|Material)Error/.test(all))
      return [];
    if (first.startsWith("'")) return [first.slice(1, -1)];
    if (first === 'cause.code' || first.startsWith('NOTHING_LEARNED')) return []; // handed on, or in the union
    const named = found(text, LITERAL);
    if (named.length === 0) throw new Error(`${name}: where does ${first} come from?`);
    return named;
  });
};

test('every error code in the code has its line in the reference, and no other', () => {
  const used = new Set([...SOURCES].flatMap(([name, text]) => codesIn(name, text)));
  used.add('INTERNAL'); // what is no HandoverError: error-line.ts
  expect(used.size).toBeGreaterThan(100);
  expect(Object.keys(ERROR_CODES).sort()).toEqual([...used].sort());
  for (const [code, { means, todo }] of Object.entries(ERROR_CODES)) {
    expect(means, code).toMatch(/\.$/);
    expect(todo, code).toMatch(/\.$/);
  }
});

/** Names of other things that are spelled alike. */
const NO_ANNOTATIONS: readonly string[] = [
  'handover.dev/operator', // who reports Events
  'handover.dev/object', // versions of files in a directory
  'handover.dev/resources',
  'handover.dev/v1alpha1',
  'kubectl.kubernetes.io/default-container', // on our own Deployment, for kubectl logs
  'app.kubernetes.io/name', // what Deployments of others, and ours, are found by
];

test('every annotation and label in the code has its line in the reference, and no other', () => {
  const texts = [...SOURCES]
    .filter(([name]) => name !== 'operator/src/annotations.ts')
    .map(([, text]) => text);
  const pattern =
    /\b((?:[a-z]+\.)*(?:handover\.dev|cert-manager\.io|reloader\.stakater\.com|service\.beta\.openshift\.io|app\.kubernetes\.io|kubectl\.kubernetes\.io)\/[A-Za-z0-9-]+)/g;
  // service-ca's are made from one prefix.
  const prefixed = texts.flatMap((text) => found(text, /\$\{PREFIX\}([a-z][a-z-]+)`/g));
  const used = new Set([
    ...texts.flatMap((text) => found(text, pattern)),
    ...prefixed.map((name) => `service.beta.openshift.io/${name}`),
  ]);
  for (const name of NO_ANNOTATIONS)
    expect(used.delete(name), `${name} is not in the code any more`).toBe(true);
  expect(ANNOTATIONS.map(({ name }) => name).sort()).toEqual([...used].sort());
  for (const { name, value, on, means } of ANNOTATIONS) {
    expect(value, name).not.toBe('');
    expect(on, name).not.toBe('');
    expect(means, name).toMatch(/\.$/);
  }
});

/** Commands of ours in a line of shell; what goes into a file, or comes from other programs, is left out. */
const callsIn = (line: string): readonly (readonly string[])[] =>
  line
    .split(/&&|\|/)
    .map((part) => part.replace(/ >.*$/, '').trim())
    .filter((part) => part.startsWith('handover '))
    .map((part) => part.split(/\s+/).slice(1));

test('every example of a help is one that its command takes', async () => {
  const examples = [
    ...((await reference())['commands.md'] ?? '').matchAll(/Examples:\n\n```text\n([^`]*)```/g),
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
