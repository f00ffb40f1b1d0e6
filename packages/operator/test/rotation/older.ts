import { execFile } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { HandoverError } from '@handover/material';
import { places } from '@handover/test-cluster';
import { ROOT } from './image.ts';
import { bundleEmbed, bundleHandover } from './stage.ts';

const run = promisify(execFile);
/** The version before this one. Until there are releases it is a commit. */
const OLDER = '65ca4f404ac7a0cea250493544d51c7b783e818a';

const git = (...args: readonly string[]): Promise<{ stdout: string }> => run('git', args, { cwd: ROOT });

/** Built once, in a folder of the cache, from the tree of that commit with the dependencies it had then. */
const builtOnce = async (
  name: string,
  say: (line: string) => void,
  install: readonly string[],
  make: (tree: string) => Promise<string>,
): Promise<string> => {
  const { cache } = places();
  const folder = join(cache, `${name}-${OLDER.slice(0, 12)}`);
  if (existsSync(folder)) return folder;
  try {
    await git('cat-file', '-e', `${OLDER}^{commit}`);
  } catch {
    throw new HandoverError(
      'OLDER_VERSION',
      `this clone has no commit ${OLDER.slice(0, 7)}, the version to upgrade from; get the history (git fetch --unshallow), or set HANDOVER_OLDER to a folder with that version’s dist/main.mjs, dist/embed.mjs and package.json`,
    );
  }
  say(`building ${OLDER.slice(0, 7)} once, to upgrade from`);
  mkdirSync(cache, { recursive: true });
  const tree = mkdtempSync(join(cache, 'older-tree-'));
  try {
    const archive = join(tree, 'tree.tar');
    await git('archive', '--output', archive, OLDER);
    await run('tar', ['-xf', archive, '-C', tree]);
    await run('npm', ['ci', ...install], { cwd: tree, maxBuffer: 64 * 1024 * 1024 });
    const made = await make(tree);
    chmodSync(made, 0o755);
    renameSync(made, folder);
  } finally {
    rmSync(tree, { recursive: true, force: true });
  }
  return folder;
};

/**
 * Folder with the previous version of `handover` as one program: that of HANDOVER_OLDER, else built once from this repository's
 * history, with the dependencies it had then.
 */
export const olderHandover = async (say: (line: string) => void): Promise<string> =>
  process.env.HANDOVER_OLDER ??
  (await builtOnce('older', say, [], (tree) => bundleHandover(join(tree, 'packages/cli'), tree)));

/** Folder with that version's `embed()`, as dist/embed.mjs. */
export const olderEmbed = async (say: (line: string) => void): Promise<string> =>
  process.env.HANDOVER_OLDER ??
  // Bundled from its sources: nothing has to be built.
  (await builtOnce('older-embed', say, ['--ignore-scripts'], (tree) =>
    bundleEmbed(join(tree, 'packages/operator'), tree),
  ));
