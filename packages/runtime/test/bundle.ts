import { spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { temporaryFolder } from '@handover/test-api-server';
import { build } from 'esbuild';

const src = fileURLToPath(new URL('../src/', import.meta.url));

/** The package from source as one file, material inlined: what a child process can import, whatever is built. */
export async function bundleRuntime(): Promise<{ dir: string; index: string }> {
  const dir = temporaryFolder();
  await build({
    entryPoints: {
      runtime: join(src, 'index.ts'),
      openshift: join(src, 'openshift.ts'),
      register: join(src, 'register.ts'),
    },
    outdir: dir,
    outExtension: { '.js': '.mjs' },
    bundle: true,
    platform: 'node',
    format: 'esm',
    target: 'node20',
    conditions: ['source'],
    external: ['undici'],
    logLevel: 'silent',
  });
  return { dir, index: join(dir, 'runtime.mjs') };
}

export interface Ended {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a script in a process of its own. One that hangs is killed by its own id, and says so by its signal. */
export function run(
  dir: string,
  script: string,
  { args = [] as readonly string[], env = {}, flags = [] as readonly string[], ext = 'mjs' } = {},
): Promise<Ended> {
  const file = join(dir, `script-${Math.random().toString(36).slice(2)}.${ext}`);
  writeFileSync(file, script);
  const child = spawn(process.execPath, [...flags, file, ...args], {
    env: { PATH: process.env.PATH, ...env },
    timeout: 20_000,
    killSignal: 'SIGKILL',
  });
  let stdout = '';
  let stderr = '';
  child.stdout.on('data', (chunk) => {
    stdout += chunk;
  });
  child.stderr.on('data', (chunk) => {
    stderr += chunk;
  });
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code, signal) => resolve({ code, signal, stdout, stderr }));
  });
}
