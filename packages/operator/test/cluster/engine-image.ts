import { execFile, spawnSync } from 'node:child_process';
import { copyFileSync, cpSync, existsSync, mkdirSync, mkdtempSync, symlinkSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { folderImage, writeImage } from '@handover/test-cluster';
import { layOut } from '../rotation/image.ts';

const run = promisify(execFile);

/** The command line of buildah, with a store of its own that is removed afterwards. It needs root and no daemon. As root on Debian it is installed. */
export const buildah = (scratch: string): readonly string[] => {
  const program = findBuildah() ?? installBuildah();
  const store = ['--root', join(scratch, 'storage'), '--runroot', join(scratch, 'run')];
  return [program, '--storage-driver', 'vfs', ...store];
};

const findBuildah = (): string | undefined =>
  ['/usr/bin/buildah', '/usr/local/bin/buildah'].find((path) => existsSync(path));

const installBuildah = (): string => {
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
  for (const args of [
    ['update', '-q'],
    ['install', '-y', '-q', '--no-install-recommends', 'buildah'],
  ])
    spawnSync('apt-get', args, { env });
  const found = findBuildah();
  if (found === undefined)
    throw new Error('no buildah: run `apt-get install buildah` as root, and this again');
  return found;
};

/**
 * An image with Node, npm and a shell to build with, as an archive: it replaces the Dockerfile's NODE_IMAGE where there is no
 * registry for images. npm uses the package registry of this machine.
 */
export const buildImage = async (scratch: string): Promise<{ archive: string; name: string }> => {
  const folder = mkdtempSync(join(scratch, 'base-'));
  await layOut(folder);
  const modules = (await run('npm', ['root', '--global'])).stdout.trim();
  cpSync(join(modules, 'npm'), join(folder, 'usr/local/lib/node_modules/npm'), { recursive: true });
  symlinkSync('../lib/node_modules/npm/bin/npm-cli.js', join(folder, 'usr/local/bin/npm'));
  mkdirSync(join(folder, 'usr/bin'));
  symlinkSync('/bin/busybox', join(folder, 'usr/bin/env'));
  const env: Record<string, string> = {
    npm_config_registry: (await run('npm', ['config', 'get', 'registry'])).stdout.trim(),
  };
  const certificates = process.env.NODE_EXTRA_CA_CERTS;
  if (certificates !== undefined) {
    mkdirSync(join(folder, dirname(certificates)), { recursive: true });
    copyFileSync(certificates, join(folder, certificates));
    env.NODE_EXTRA_CA_CERTS = certificates;
  }
  const name = 'localhost/node-build:1';
  const archive = join(scratch, 'base.tar');
  writeImage(archive, scratch, folderImage({ name, base: 'busybox', files: { '/': folder }, env }));
  return { archive, name };
};
