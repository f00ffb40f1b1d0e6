import { expect, test } from 'vitest';
import { handover } from '../../test/capture.ts';
import { COMMANDS } from '../commands.ts';

test.each(['zsh', 'fish'])('the completion script for %s names every command and flag', async (shell) => {
  const { code, stdout } = await handover(['completion', shell]);
  expect(code).toBe(0);
  for (const name of Object.keys(COMMANDS)) expect(stdout).toContain(name);
  for (const flag of ['rotation-id', 'strategy', 'generation']) expect(stdout).toContain(flag);
});

test('completion for an unknown shell is one line that names the known ones', async () => {
  expect(await handover(['completion', 'tcsh'])).toEqual({
    code: 2,
    stdout: '',
    stderr:
      "USAGE: command-argument value 'tcsh' is invalid for argument 'shell'. Allowed choices are bash, zsh, fish; see `handover completion --help`\n",
  });
});
