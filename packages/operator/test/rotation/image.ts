import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { temporaryFolder } from '@handover/test-api-server';
import type { NodeImage } from '@handover/test-cluster';

const run = promisify(execFile);
export const ROOT = fileURLToPath(new URL('../../../../', import.meta.url));
const DOCKERFILE = join(ROOT, 'deploy/image/Dockerfile');

type Config = Omit<NodeImage, 'name' | 'base' | 'files'>;

const pair = (text: string): readonly [string, string] => {
  const [, key = '', value = ''] = /^([\w.]+)="(.*)"$/.exec(text) ?? [];
  if (key === '') throw new Error(`${text} is not written like KEY="value"`);
  return [key, value];
};

/** Entry point, user and labels of the image, from the last stage of the Dockerfile. */
export const configOf = (dockerfile: string): Config => {
  const stage = dockerfile.slice(dockerfile.lastIndexOf('\nFROM '));
  const said = (word: string): readonly string[] =>
    [...stage.matchAll(new RegExp(`^${word} (.+)$`, 'gm'))].map(([, text = '']) => text);
  const one = (word: string): string => said(word)[0] ?? '';
  return {
    entrypoint: JSON.parse(one('ENTRYPOINT')) as string[],
    command: JSON.parse(one('CMD')) as string[],
    env: Object.fromEntries(said('ENV').map(pair)),
    // Without values from build arguments.
    labels: Object.fromEntries(
      said('LABEL')
        .map(pair)
        .filter(([, value]) => !value.includes('${')),
    ),
    workingDirectory: one('WORKDIR'),
    user: one('USER'),
  };
};

/** The files of the image, made from the package as it is published. Returns its `handover`. */
export const layOut = async (folder: string): Promise<string> => {
  const packed = temporaryFolder();
  await run(process.execPath, ['scripts/pack.mjs', packed], { cwd: ROOT });
  await run(process.execPath, ['deploy/image/root.mjs', join(packed, 'handover'), folder], { cwd: ROOT });
  return join(folder, 'handover/bin/handover.js');
};

/** The image of deploy/image/Dockerfile, with the same files and settings, built without a container engine. */
export const operatorImage = async (name: string): Promise<NodeImage & { readonly program: string }> => {
  const folder = temporaryFolder();
  const program = await layOut(folder);
  return {
    program,
    name,
    base: 'scratch',
    files: { '/': folder },
    ...configOf(readFileSync(DOCKERFILE, 'utf8')),
  };
};
