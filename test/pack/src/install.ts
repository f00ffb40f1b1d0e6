import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { TestProject } from 'vitest/node';

export const ROOT = fileURLToPath(new URL('../../../', import.meta.url));

/** A tarball, as `npm pack --json` describes it. */
export interface Packed {
  readonly name: string;
  readonly filename: string;
  /** Bytes of the tarball. */
  readonly size: number;
  readonly files: readonly { readonly path: string; readonly size: number; readonly mode: number }[];
}

export interface Installed {
  readonly packed: readonly Packed[];
  /** A folder with both tarballs installed and nothing else. */
  readonly bare: string;
  /** The same, and the optional peers. */
  readonly withPeers: string;
}

declare module 'vitest' {
  export interface ProvidedContext {
    installed: Installed;
  }
}

const npm = (cwd: string, ...args: readonly string[]): string =>
  execFileSync('npm', args, { cwd, encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] });

/** Names in this workspace's node_modules, for a folder elsewhere. */
const lend = (folder: string, ...names: readonly string[]): void => {
  for (const name of names) {
    const link = join(folder, 'node_modules', name);
    mkdirSync(dirname(link), { recursive: true });
    symlinkSync(join(ROOT, 'node_modules', name), link);
  }
};

export const setup = (project: TestProject): (() => void) => {
  const folder = mkdtempSync(join(tmpdir(), 'handover-pack-'));
  const packed = ['runtime', 'handover'].flatMap(
    (name) =>
      JSON.parse(
        npm(join(ROOT, 'build', name), 'pack', '--json', '--pack-destination', folder),
      ) as readonly Packed[],
  );
  const bare = join(folder, 'bare');
  mkdirSync(bare);
  writeFileSync(join(bare, 'package.json'), '{"private":true}\n');
  // Without a registry: neither package has anything to download.
  npm(bare, 'install', '--offline', ...packed.map(({ filename }) => join(folder, filename)));
  const withPeers = join(folder, 'with-peers');
  cpSync(bare, withPeers, { recursive: true, verbatimSymlinks: true });
  lend(withPeers, 'undici', '@grpc/grpc-js');
  project.provide('installed', { packed, bare, withPeers });
  return () => rmSync(folder, { recursive: true });
};
