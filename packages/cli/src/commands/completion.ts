import { Argument } from 'commander';
import { bashCompletion } from '../completion/bash.ts';
import { fishCompletion } from '../completion/fish.ts';
import { type CommandShape, commandShapes } from '../completion/table.ts';
import { zshCompletion } from '../completion/zsh.ts';
import type { Define } from '../context.ts';

const SHELLS = {
  bash: bashCompletion,
  zsh: zshCompletion,
  fish: fishCompletion,
} as const satisfies Record<string, (commands: readonly CommandShape[]) => string>;

export const define: Define = (command, context) => {
  command
    .addArgument(new Argument('<shell>', 'the shell').choices(Object.keys(SHELLS)))
    .option('--json', 'print commands and flags as one JSON document instead')
    .addHelpText(
      'after',
      `
Prints a script with which Tab completes commands, flags, values and the names of authorities.

Examples:
  $ handover completion bash > /etc/bash_completion.d/handover
  $ handover completion zsh > "\${fpath[1]}/_handover"
  $ handover completion fish > ~/.config/fish/completions/handover.fish`,
    )
    .action(async (shell: keyof typeof SHELLS, flags: { json?: true }) => {
      const commands = await commandShapes(context);
      context.stdout.write(
        flags.json === true ? `${JSON.stringify({ shell, commands })}\n` : SHELLS[shell](commands),
      );
    });
};
