import { Command } from 'commander';
import { COMMANDS } from '../commands.ts';
import type { Context } from '../context.ts';
import { code, page, prose, table } from './markdown.ts';

const silent = { write: () => undefined };
/** No command runs here: definitions only take a context. */
const CONTEXT: Context = {
  stdin: (async function* () {})(),
  stdout: silent,
  stderr: silent,
  colours: false,
  get clock(): never {
    throw new TypeError('a definition must not read the clock');
  },
  sinceBoot: () => 0,
  untilStopped: () => new AbortController().signal,
  goOnUnheard: () => {},
  exitCode: 0,
};

const WIDTH = 100;

/** The text of `--help` after the flags: prose, then examples. */
const restOf = (command: Command): readonly [words: string, examples: string] => {
  let text = '';
  command.configureOutput({
    writeOut: (part) => {
      text += part;
    },
    getOutHelpWidth: () => WIDTH,
  });
  command.outputHelp();
  const after = text.slice(text.indexOf(command.helpInformation()) + command.helpInformation().length);
  const [words = '', examples = ''] = after.split(/\nExamples?:\n/);
  return [words.trim(), examples];
};

/** A command as it is defined. */
export const defined = async (name: string): Promise<Command> => {
  const entry = COMMANDS[name];
  if (entry === undefined) throw new TypeError(`there is no command ${name}`);
  const command = new Command(name).description(entry.summary).helpOption('-h, --help', 'print help');
  (await entry.load()).define(command, CONTEXT);
  return command;
};

/** What the documents say of a command. */
export interface CommandParts {
  readonly summary: string;
  readonly usage: string;
  readonly words: string;
  /** Arguments and flags: name, meaning, default. */
  readonly rows: readonly (readonly [name: string, meaning: string, preset: string])[];
  readonly examples: string;
}

export const commandParts = async (name: string): Promise<CommandParts> => {
  const command = await defined(name);
  const summary = command.description();
  const [words, examples] = restOf(command);
  const shown = examples
    .split('\n')
    .map((line) => line.replace(/^ {2}(\$ )?/, ''))
    .join('\n')
    .trim();
  if (shown === '') throw new TypeError(`the help of ${name} has no example`);
  const flags = command.options.map(
    ({ flags: usage, description, defaultValue, defaultValueDescription }) => {
      const preset = defaultValueDescription ?? (Array.isArray(defaultValue) ? '' : (defaultValue ?? ''));
      // The description may say it better, in words.
      const isSaid = typeof preset === 'boolean' || description.includes('(default');
      return [usage, description, isSaid ? '' : String(preset)] as const;
    },
  );
  const positional = command.registeredArguments.map(
    (argument) =>
      [
        argument.name(),
        argument.argChoices === undefined
          ? argument.description
          : `${argument.description}: ${argument.argChoices.join(', ')}`,
        argument.required ? '' : 'optional',
      ] as const,
  );
  const rows = [...positional, ...flags];
  for (const [usage, description] of rows)
    if (description === '') throw new TypeError(`${usage} of ${name} has no description`);
  return {
    summary: `${summary[0]?.toUpperCase()}${summary.slice(1)}.`,
    usage: command.usage(),
    words,
    rows,
    examples: shown,
  };
};

const section = async (name: string): Promise<readonly string[]> => {
  const { summary, usage, words, rows, examples } = await commandParts(name);
  const written = (preset: string): string =>
    preset === '' || preset === 'optional' ? preset : code(preset);
  return [
    `## handover ${name}`,
    summary,
    `\`\`\`text\nhandover ${name} ${usage}\n\`\`\``,
    ...(words === '' ? [] : [prose(words)]),
    table(
      ['argument or flag', 'meaning', 'default'],
      rows.map(([flag, meaning, preset]) => [code(flag), meaning, written(preset)]),
    ),
    `Examples:\n\n\`\`\`text\n${examples}\n\`\`\``,
  ];
};

export const commandsPage = async (): Promise<string> =>
  page(
    'Commands',
    'Every command has `--help`. Errors are one line ([codes](errors.md)); exit code 0 is success, 1 failure, 2 a usage error, 70 a command that ended before its work did (`UNFINISHED`, a bug). In a clone use `npx handover`. As a kubectl plugin, `kubectl handover status|verify|rotate|plan|distrust` work on a cluster.',
    ...(await Promise.all(Object.keys(COMMANDS).map(section))).flat(),
  );
