import { Command, CommanderError } from 'commander';
import { COMMANDS } from './commands.ts';
import type { Context } from './context.ts';
import { version } from './version.ts';

const ENDS_WELL = ['commander.helpDisplayed', 'commander.version'];

/** `help` and `help COMMAND` are other ways to write `--help`. */
const withoutHelpCommand = ([first, ...rest]: readonly string[]): readonly string[] =>
  first === 'help' ? [...rest, '--help'] : first === undefined ? [] : [first, ...rest];

/** The first word that is not an option: the command that is meant. */
const wordIn = (args: readonly string[]): string | undefined => args.find((arg) => !arg.startsWith('-'));

/** One run of `handover`, arguments without the program's name. Never throws; answers with the exit code. */
export const run = async (given: readonly string[], context: Context): Promise<number> => {
  const args = withoutHelpCommand(given);
  const word = wordIn(args);
  const called = word !== undefined && Object.hasOwn(COMMANDS, word) ? word : undefined;
  try {
    const program = new Command('handover')
      .description('Certificate and trust rotation without a failed handshake.')
      .version(version(), '-V, --version', 'print the version')
      .helpOption('-h, --help', 'print help')
      .helpCommand(false)
      .addHelpText(
        'after',
        '\nExit codes: 0 well, 1 failure, 2 wrong usage.\n\nExample:\n  $ handover simulate --strategy phased --seeds 200',
      )
      .exitOverride()
      .configureOutput({
        writeOut: (text) => void context.stdout.write(text),
        writeErr: () => {}, // endingOf says it in one line
      });
    for (const [name, { summary }] of Object.entries(COMMANDS)) program.command(name).description(summary);
    if (called !== undefined) {
      const command = program.commands.find((candidate) => candidate.name() === called);
      const entry = COMMANDS[called];
      if (command !== undefined && entry !== undefined) (await entry.load()).define(command, context);
    }
    if (args.length === 0) {
      context.stderr.write(program.helpInformation());
      return 2;
    }
    // Help for a command that does not exist would be help about everything, and no word about the slip.
    const unknown = word !== undefined && called === undefined;
    await program.parseAsync(unknown ? [word] : args, { from: 'user' });
    return context.exitCode;
  } catch (error) {
    if (error instanceof CommanderError && ENDS_WELL.includes(error.code)) return 0;
    const { endingOf } = await import('./error-line.ts'); // not before it is needed: it brings all of `material`
    const { line, exitCode } = endingOf(error, called);
    context.stderr.write(`${line}\n`);
    return exitCode;
  }
};
