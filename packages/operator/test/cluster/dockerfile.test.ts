import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { lstatSync, mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { temporaryFolder } from '@handover/test-api-server';
import { noNodeBecause } from '@handover/test-cluster';
import { beforeAll, describe, expect, test } from 'vitest';
import { configOf, operatorImage, ROOT } from '../rotation/image.ts';
import { buildah, buildImage } from './engine-image.ts';

const run = promisify(execFile);
const scratch = temporaryFolder();
const NAME = 'localhost/handover:dockerfile';
const LONG = 1_200_000;
let engine: readonly string[] = [];

/** Every file, folder and link below, with mode and content. The top folder itself belongs to the engine. */
const contents = (folder: string, at = ''): readonly string[] =>
  readdirSync(join(folder, at))
    .sort()
    .flatMap((name) => {
      const path = `${at}/${name}`;
      const facts = lstatSync(join(folder, path));
      const line = `${path} ${(facts.mode & 0o7777).toString(8)} ${facts.uid}:${facts.gid}`;
      if (facts.isDirectory()) return [line, ...contents(folder, path)];
      const hash = createHash('sha256').update(readFileSync(join(folder, path)));
      return [`${line} ${hash.digest('hex')}`];
    });

describe.skipIf(noNodeBecause() !== undefined)(
  'the Dockerfile, built by buildah from what is committed',
  () => {
    let built: string;
    const call = async (...args: readonly string[]): Promise<string> => {
      const [command = '', ...common] = engine;
      return (await run(command, [...common, ...args], { maxBuffer: 64 * 1024 * 1024 })).stdout.trim();
    };

    beforeAll(async () => {
      engine = buildah(scratch);
      const clone = join(scratch, 'clone');
      mkdirSync(clone);
      await run('git', ['archive', '--output', join(scratch, 'clone.tar'), 'HEAD'], { cwd: ROOT });
      await run('tar', ['-xf', join(scratch, 'clone.tar'), '-C', clone]);
      const { archive, name } = await buildImage(scratch);
      await call('pull', `docker-archive:${archive}`);
      const how = ['--isolation', 'chroot', '--network', 'host', '--build-arg', `NODE_IMAGE=${name}`];
      await call('bud', ...how, '-f', join(clone, 'deploy/image/Dockerfile'), '-t', NAME, clone);
      built = await call('mount', await call('from', NAME));
    }, LONG);

    test('has the same files, byte for byte, as the image that the cluster tests run', async () => {
      const { files } = await operatorImage(NAME);
      expect(contents(built)).toEqual(contents(files?.['/'] ?? ''));
    });

    test('starts the same way, as the same user, with the same labels', async () => {
      const { OCIv1 } = JSON.parse(await call('inspect', '--type', 'image', NAME)) as {
        OCIv1: { config: Record<string, unknown> };
      };
      const said = configOf(readFileSync(join(ROOT, 'deploy/image/Dockerfile'), 'utf8'));
      const { Labels, ...config } = OCIv1.config;
      expect(config).toEqual({
        User: said.user,
        Env: Object.entries(said.env ?? {}).map(([key, value]) => `${key}=${value}`),
        Entrypoint: said.entrypoint,
        Cmd: said.command,
        WorkingDir: said.workingDirectory,
      });
      expect(Labels).toMatchObject(said.labels ?? {});
    });

    test('runs in it, as an unprivileged user', async () => {
      const { stdout } = await run('chroot', [
        ...['--userspec=65532:65532', built],
        ...['/usr/local/bin/node', '/handover/bin/handover.js', '--version'],
      ]);
      expect(stdout).toMatch(/^\d+\.\d+\.\d+\n$/);
    });
  },
);
