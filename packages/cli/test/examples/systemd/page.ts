import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { stepsOf } from '../../../../../test/docs/src/commands.ts';
import { type Block, blocksOf, fileNameIn } from '../../../../../test/docs/src/markdown.ts';
import type { Machine } from './machine.ts';

const PAGE = fileURLToPath(new URL('../../../../../docs/one-machine.md', import.meta.url));

const blocksUnder = (heading: string): readonly Block[] => {
  const section = readFileSync(PAGE, 'utf8')
    .split(/^## /m)
    .find((text) => text.startsWith(`${heading}\n`));
  if (section === undefined) throw new Error(`docs/one-machine.md has no ${heading}`);
  return blocksOf(section);
};

/** Does what the page says under a heading, in one shell: writes its files, then runs its commands; returns what they print. */
export const follow = async (machine: Machine, heading: string): Promise<string> => {
  const blocks = blocksUnder(heading);
  for (const block of blocks) {
    const name = fileNameIn(block);
    if (name !== undefined && block.language !== 'sh')
      writeFileSync(machine.path(name.startsWith('/') ? name : `/root/${name}`), block.text, { mode: 0o644 });
  }
  const commands = blocks
    .filter(({ language }) => language === 'sh')
    .flatMap(({ text, line }) => stepsOf(text, line).map((step) => step.text));
  if (commands.length === 0) throw new Error(`docs/one-machine.md has no commands under ${heading}`);
  return well(machine, `set -e\n${commands.join('\n')}`);
};

/** Runs a command as root in /root, which has to work. */
export const well = async (machine: Machine, command: string): Promise<string> => {
  const { code, stdout, stderr } = await machine.sh(`cd /root; ${command}`);
  if (code !== 0) throw new Error(`exit ${code}: ${command}\n${stdout}${stderr}`);
  return stdout;
};
