import { Command, CommanderError } from 'commander';
import { COMMANDS } from './commands.ts';
import type { Context } from './context.ts';
import { version } from './version.ts';

const ENDS_WELL = ['commander.helpDisplayed', 'commander.version'];

/** `help` and `help COMMAND` are other ways to write `--help`. */
const withoutHelpCommand = ([first, ...rest]: readonly string[]): readonly string[] =>
  first === 'help' ? [...rest, '--help'] : first === undefined ? [] : [first, ...rest];

const namesHome = (arg: string): boolean => arg === '--home' || arg.startsWith('--home=');

/** The first word that is not an option: the command. */
const wordIn = (args: readonly string[]): string | undefined => args.find((arg) => !arg.startsWith('-'));

/** The name it was started by: its own, or that of a kubectl plugin, whose home is a cluster. */
export type Program = 'handover' | 'kubectl handover';

const ABOUT_A_CLUSTER: readonly string[] = ['status', 'verify', 'rotate', 'plan', 'distrust'];
const EXAMPLES: Readonly<Record<Program, string>> = {
  handover: 'handover simulate --strategy phased --seeds 200',
  'kubectl handover': 'kubectl handover rotate mesh/internal --wait',
};

/** One run of `handover`, arguments without the program's name. Never throws; returns the exit code. */
export const run = async (
  given: readonly string[],
  context: Context,
  name: Program = 'handover',
): Promise<number> => {
  const asked = withoutHelpCommand(given);
  const word = wordIn(asked);
  const commands = Object.entries(COMMANDS).filter(
    ([command]) => name === 'handover' || ABOUT_A_CLUSTER.includes(command),
  );
  const entry = commands.find(([command]) => command === word);
  const called = entry?.[0];
  const home = name === 'handover' || called === undefined || asked.some(namesHome) ? [] : ['--home', 'kube'];
  const args = [...asked.slice(0, 1), ...home, ...asked.slice(1)];
  try {
    const program = new Command(name)
      .description('Certificate and trust rotation without a failed handshake.')
      .version(version(), '-V, --version', 'print the version')
      .helpOption('-h, --help', 'print help')
      .helpCommand(false)
      .addHelpText(
        'after',
        `\nExit codes: 0 success, 1 failure, 2 usage error, 70 a bug in handover.\n\nExample:\n  $ ${EXAMPLES[name]}`,
      )
      .exitOverride()
      .configureOutput({
        writeOut: (text) => void context.stdout.write(text),
        writeErr: () => {}, // endingOf says it in one line
      });
    for (const [command, { summary }] of commands) program.command(command).description(summary);
    const command = program.commands.find((candidate) => candidate.name() === called);
    if (command !== undefined && entry !== undefined) (await entry[1].load()).define(command, context);
    if (args.length === 0) {
      context.stderr.write(program.helpInformation());
      return 2;
    }
    // For an unknown command commander would print the general help and hide the typo.
    const unknown = word !== undefined && called === undefined;
    await program.parseAsync(unknown ? [word] : args, { from: 'user' });
    return context.exitCode;
  } catch (error) {
    if (error instanceof CommanderError && ENDS_WELL.includes(error.code)) return 0;
    const { tellEnd } = await import('./error-line.ts'); // only when needed: it loads all of `material`
    return tellEnd(error, called, asked, context);
  }
};
