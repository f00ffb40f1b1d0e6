import { readFileSync } from 'node:fs';

/** Of the package that this file is in. */
export const version = (): string => {
  const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as {
    version: string;
  };
  return version;
};
