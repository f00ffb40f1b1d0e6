import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** The one line that joins a driver and the runtime, from the source that ran. */
export const lineOf = ({ make, call }) => {
  const source = String(make ?? call);
  return source
    .slice(source.indexOf('=>') + 2)
    .replace(/\s+/g, ' ')
    .replace(/, ([)}\]])/g, ' $1')
    .replaceAll('( ', '(')
    .replaceAll(' )', ')')
    .trim();
};

export const titleOf = ({ name, package: from }) => {
  if (from === undefined) return { name };
  const manifest = readFileSync(join(process.cwd(), 'node_modules', from, 'package.json'), 'utf8');
  return { name: name ?? from, version: JSON.parse(manifest).version };
};
