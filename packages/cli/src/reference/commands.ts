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
  now: () => {
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

const section = async (name: string): Promise<readonly string[]> => {
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
      if (description === '') throw new TypeError(`${usage} of ${name} has no description`);
      const preset = defaultValueDescription ?? (Array.isArray(defaultValue) ? '' : (defaultValue ?? ''));
      // The description may say it better, in words.
      const isSaid = typeof preset === 'boolean' || description.includes('(default');
      const written = isSaid ? '' : String(preset);
      return [code(usage), description, written === '' ? '' : code(written)];
    },
  );
  const positional = command.registeredArguments.map((argument) => [
    code(argument.name()),
    argument.argChoices === undefined
      ? argument.description
      : `${argument.description}: ${argument.argChoices.join(', ')}`,
    argument.required ? '' : 'optional',
  ]);
  for (const [argument, description] of positional)
    if (description === '') throw new TypeError(`${argument} of ${name} has no description`);
  return [
    `## handover ${name}`,
    `${summary[0]?.toUpperCase()}${summary.slice(1)}.`,
    `\`\`\`text\nhandover ${name} ${command.usage()}\n\`\`\``,
    ...(words === '' ? [] : [prose(words)]),
    table(['argument or flag', 'meaning', 'default'], [...positional, ...flags]),
    `Examples:\n\n\`\`\`text\n${shown}\n\`\`\``,
  ];
};

export const commandsPage = async (): Promise<string> =>
  page(
    'Commands',
    'Every command has `--help`. Errors are one line ([codes](errors.md)); exit code 0 is success, 1 failure, 2 a usage error. In a clone use `npx handover`. As a kubectl plugin, `kubectl handover status|verify|rotate|plan|distrust` work on a cluster.',
    ...(await Promise.all(Object.keys(COMMANDS).map(section))).flat(),
  );
