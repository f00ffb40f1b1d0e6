import { Command, type Option } from 'commander';
import { COMMANDS } from '../commands.ts';
import type { Context } from '../context.ts';

/** What can be typed: one of some words, or something a shell can look up. */
export type Value =
  | { readonly kind: 'words'; readonly words: readonly string[] }
  | { readonly kind: 'file' | 'directory' | 'home' | 'authority' }
  /** A number, an id, a duration: no suggestion. */
  | { readonly kind: 'free' };

export interface Flag {
  readonly long: string;
  readonly short: string | undefined;
  readonly summary: string;
  /** Undefined: the flag takes no value. */
  readonly value: Value | undefined;
}

export interface CommandShape {
  readonly name: string;
  readonly summary: string;
  readonly flags: readonly Flag[];
  /** The arguments in order; the last one repeats if the command takes many. */
  readonly arguments: readonly Value[];
  readonly takesMany: boolean;
}

/** Kinds of values by the name of their placeholder. */
const BY_PLACEHOLDER: Readonly<
  Record<string, Value['kind'] & ('file' | 'directory' | 'home' | 'authority')>
> = { auth: 'authority', dir: 'directory', file: 'file', home: 'home' };

const valueFor = (placeholder: string, choices: readonly string[] | undefined): Value => {
  if (choices !== undefined) return { kind: 'words', words: choices };
  const kind = BY_PLACEHOLDER[placeholder];
  return kind === undefined ? { kind: 'free' } : { kind };
};

const flagOf = ({ long, short, flags, description, argChoices }: Option): Flag => {
  const placeholder = /[<[]([a-z]+)[^ ]*[>\]]$/.exec(flags)?.[1];
  return {
    long: long ?? '',
    short,
    summary: description,
    value: placeholder === undefined ? undefined : valueFor(placeholder, argChoices),
  };
};

const HELP: Flag = { long: '--help', short: '-h', summary: 'print help', value: undefined };

/** Every command with its flags, read from the definitions that parse them. */
export const commandShapes = async (context: Context): Promise<readonly CommandShape[]> =>
  Promise.all(
    Object.entries(COMMANDS).map(async ([name, { summary, load }]) => {
      const command = new Command(name);
      (await load()).define(command, context);
      return {
        name,
        summary,
        flags: [...command.options.map(flagOf), HELP],
        arguments: command.registeredArguments.map((argument) =>
          valueFor(argument.name(), argument.argChoices),
        ),
        takesMany: command.registeredArguments.at(-1)?.variadic === true,
      };
    }),
  );
