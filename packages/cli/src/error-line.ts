import { HandoverError } from '@handover/material';
import { CommanderError } from 'commander';
import type { Context } from './context.ts';
import { CliError, type CliErrorCode } from './error.ts';
import { printable } from './printable.ts';

/** Whether the arguments ask for JSON, wherever the option stands. */
export const asksJson = (args: readonly string[]): boolean => {
  const end = args.indexOf('--');
  return args.slice(0, end === -1 ? args.length : end).includes('--json');
};

/** An error as `--json` has it. */
export const errorJson = (code: string, message: string): string =>
  JSON.stringify({ error: { code, message } });

export const usageError = (message: string): HandoverError => new CliError('USAGE', message);

/** How a failed run ends: one line, and its exit code. */
interface Ending {
  readonly code: string;
  readonly message: string;
  /** `CODE: what; why; what to do`. */
  readonly line: string;
  readonly exitCode: 1 | 2;
}

/** Codes of a command that was called wrongly. */
const USAGE: ReadonlySet<string> = new Set<CliErrorCode>(['USAGE', 'INSTALL_OPTION']);

const ending = (code: string, text: string): Ending => {
  const message = printable(text);
  return { code, message, line: `${code}: ${message}`, exitCode: USAGE.has(code) ? 2 : 1 };
};

/** The end of a run, whatever was thrown. */
export const endingOf = (error: unknown, called: string | undefined): Ending => {
  if (error instanceof CommanderError) {
    const what = error.message
      .replace(/^error: /, '')
      .replace(/\.$/, '')
      .replace(/\n\(Did you mean (.*)\?\)$/s, '; did you mean $1?');
    const help = called === undefined ? 'handover --help' : `handover ${called} --help`;
    return ending('USAGE', `${what}; see \`${help}\``);
  }
  if (error instanceof HandoverError) return ending(error.code, error.message);
  const what = error instanceof Error ? error.message : String(error);
  return ending('INTERNAL', `${what}; this is a bug in handover; please report it with the command you ran`);
};

/** What Nagios calls the state of what a plugin cannot judge, and of what is certainly wrong. */
const UNKNOWN = ['UNKNOWN', 3] as const;
const CRITICAL = ['CRITICAL', 2] as const;
const IS_WRONG = /^(RESOURCE_|YAML_|HOME_STATE_EXPOSED$)/;

/** Says how a failed run ends, in JSON where that was asked for, and returns the exit code. */
export const tellEnd = (
  error: unknown,
  called: string | undefined,
  args: readonly string[],
  { stdout, stderr }: Pick<Context, 'stdout' | 'stderr'>,
): number => {
  const { code, message, line, exitCode } = endingOf(error, called);
  const json = asksJson(args);
  if (called === 'check') {
    // A monitoring system reads stdout, and a bar would begin its figures.
    const [state, exit] = IS_WRONG.test(code) ? CRITICAL : UNKNOWN;
    const text = json ? JSON.stringify({ state, error: line }) : line.replaceAll('|', '/');
    stdout.write(json ? `${text}\n` : `HANDOVER ${state} - ${text}\n`);
    return exit;
  }
  stderr.write(`${json ? errorJson(code, message) : line}\n`);
  return exitCode;
};
