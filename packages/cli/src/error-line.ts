import { HandoverError } from '@handover/material';
import { CommanderError } from 'commander';
import { CliError } from './error.ts';
import { printable } from './printable.ts';

export const usageError = (message: string): HandoverError => new CliError('USAGE', message);

/** How a failed run ends: one line on stderr, and its exit code. */
export interface Ending {
  readonly line: string;
  readonly exitCode: 1 | 2;
}

/** `CODE: what; why; what to do`, whatever was thrown. */
export const endingOf = (error: unknown, called: string | undefined): Ending => {
  if (error instanceof CommanderError) {
    const what = error.message
      .replace(/^error: /, '')
      .replace(/\.$/, '')
      .replace(/\n\(Did you mean (.*)\?\)$/s, '; did you mean $1?');
    const help = called === undefined ? 'handover --help' : `handover ${called} --help`;
    return { line: `USAGE: ${printable(what)}; see \`${help}\``, exitCode: 2 };
  }
  if (error instanceof HandoverError) {
    return {
      line: `${error.code}: ${printable(error.message)}`,
      exitCode: error.code === 'USAGE' ? 2 : 1,
    };
  }
  const what = error instanceof Error ? error.message : String(error);
  return {
    line: `INTERNAL: ${printable(what)}; this is a bug in handover; please report it with the command you ran`,
    exitCode: 1,
  };
};
