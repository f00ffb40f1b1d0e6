import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { type Step, stepsOf } from './commands.ts';
import { type Block, blocksOf } from './markdown.ts';

export const ROOT = fileURLToPath(new URL('../../../', import.meta.url));

/** Documents whose commands are run. Decisions have none to run. */
export const DOCUMENTS: readonly string[] = [
  'README.md',
  'CONTRIBUTING.md',
  ...readdirSync(`${ROOT}docs`, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.md') && !name.startsWith('decisions/'))
    .map((name) => `docs/${name}`)
    .sort(),
];

export const textOf = (document: string): string => readFileSync(`${ROOT}${document}`, 'utf8');
export const blocksIn = (document: string): readonly Block[] => blocksOf(textOf(document));

export const stepsIn = (document: string): readonly Step[] =>
  blocksIn(document)
    .filter(({ language }) => language === 'sh')
    .flatMap(({ text, line }) => stepsOf(text, line));

const CI = readFileSync(`${ROOT}.ci/run`, 'utf8');

/** The steps in `.ci/run` of what readers do with one command. The newcomer's test runs that one command. */
const IN_CI: Readonly<Record<string, readonly string[]>> = {
  'npm ci': ['npm ci --ignore-scripts', 'npm run build'],
  'npm test': ['npm test -- --sequence.shuffle'],
};

/** Whether `.ci/run` runs exactly this command as a step: then this test skips it. */
export const isStepOfCi = (command: string): boolean =>
  (IN_CI[command] ?? [command.replace(/^npx handover/, 'npx --no-install handover')]).every((step) =>
    CI.split('\n').some((line) => line.trim() === `step ${step}`),
  );
