import { spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { HandoverError } from '@handover/material';
import { whileLocked } from './build-lock.ts';
import { type Binary, buildArguments, moduleDirectory, RECIPES, versionOf } from './pins.ts';
import type { Release } from './places.ts';

export type Say = (line: string) => void;

const PROGRESS_MS = 20_000;
const seconds = (since: number): string => `${Math.round((Date.now() - since) / 1_000)} s`;

export const hasGo = (): boolean => spawnSync('go', ['version'], { stdio: 'ignore' }).status === 0;

const goBuild = (binary: Binary, release: Release, output: string): Promise<void> =>
  new Promise((resolve, reject) => {
    const { module, path } = RECIPES[binary];
    const child = spawn('go', [...buildArguments(binary, release), '-o', output, path], {
      cwd: moduleDirectory(module, release),
      // Static, so that a binary also runs inside an image without libraries.
      env: { ...process.env, CGO_ENABLED: '0', GOWORK: 'off' },
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    let errors = '';
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      errors = (errors + text).slice(-4_000);
    });
    child.on('error', reject);
    child.on('close', (code) => {
      if (code === 0) return resolve();
      const told = errors
        .trim()
        .split('\n')
        .filter((line) => !line.startsWith('go: downloading'));
      reject(
        new HandoverError(
          'CLUSTER_BUILD',
          `go build ${path} failed: ${told.slice(-3).join(' | ')}; can this machine reach its Go module proxy?`,
        ),
      );
    });
  });

/** Builds missing binaries one by one (Go itself uses every core), and renames each into place when complete. */
export async function buildMissing(
  bin: string,
  binaries: readonly Binary[],
  release: Release,
  say: Say,
): Promise<void> {
  const missing = (): Binary[] => binaries.filter((binary) => !existsSync(join(bin, binary)));
  if (missing().length === 0) return;
  let told = 0;
  const onWait = (holder: { readonly pid: number } | undefined): void => {
    if (Date.now() - told < PROGRESS_MS) return;
    told = Date.now();
    say(`waiting for process ${holder?.pid ?? '?'}, which builds the same binaries`);
  };
  await whileLocked(`${bin}.lock`, onWait, async () => {
    const list = missing();
    if (list.length === 0) return;
    mkdirSync(bin, { recursive: true });
    // Left by a killed build; no other process builds now.
    for (const name of readdirSync(bin)) if (name.startsWith('.')) rmSync(join(bin, name), { force: true });
    const begun = Date.now();
    say(`building ${list.length} binaries once, into ${bin}; cold this takes about 11 minutes on 2 cores`);
    for (const [index, binary] of list.entries()) {
      const what = `[${index + 1}/${list.length}] ${binary} ${versionOf(RECIPES[binary].module, release)}`;
      const from = Date.now();
      const ticking = setInterval(() => say(`${what}: ${seconds(from)} so far`), PROGRESS_MS);
      const partial = join(bin, `.${binary}.${process.pid}`);
      try {
        await goBuild(binary, release, partial);
        renameSync(partial, join(bin, binary));
      } finally {
        clearInterval(ticking);
        rmSync(partial, { force: true });
      }
      say(`${what}: built in ${seconds(from)}`);
    }
    say(`built in ${seconds(begun)}`);
  });
}
