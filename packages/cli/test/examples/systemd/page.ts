import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Machine } from './machine.ts';

const PAGE = fileURLToPath(new URL('../../../../../docs/one-machine.md', import.meta.url));

const sectionOf = (heading: string): string => {
  const section = readFileSync(PAGE, 'utf8')
    .split(/^## /m)
    .find((text) => text.startsWith(`${heading}\n`));
  if (section === undefined) throw new Error(`docs/one-machine.md has no ${heading}`);
  return section;
};

/** Does what the page says under a heading, in one shell: writes its files, then runs its commands; returns what they print. */
export const follow = async (machine: Machine, heading: string): Promise<string> => {
  const section = sectionOf(heading);
  for (const [, name = '', text = ''] of section.matchAll(/^`([^`]+)`:\n\n```\w+\n([\s\S]*?)^```$/gm))
    writeFileSync(machine.path(name.startsWith('/') ? name : `/root/${name}`), text, { mode: 0o644 });
  const commands = [...section.matchAll(/^```sh\n([\s\S]*?)^```$/gm)].map(([, text]) => text);
  if (commands.length === 0) throw new Error(`docs/one-machine.md has no commands under ${heading}`);
  return well(machine, `set -e\n${commands.join('')}`);
};

/** Runs a command as root in /root, which has to work. */
export const well = async (machine: Machine, command: string): Promise<string> => {
  const { code, stdout, stderr } = await machine.sh(`cd /root; ${command}`);
  if (code !== 0) throw new Error(`exit ${code}: ${command}\n${stdout}${stderr}`);
  return stdout;
};
