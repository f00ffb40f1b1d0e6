import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryFolder } from '@handover/test-api-server';
import { beforeAll, describe, expect, it } from 'vitest';
import { type ImageSpec, writeImage } from './src/image/image.ts';

const DEEP = `${'a-folder-with-a-long-name/'.repeat(5)}file.txt`;

describe('an image made from a folder', () => {
  const scratch = temporaryFolder();
  const image = (): ImageSpec => ({
    name: 'localhost/a:1',
    layers: [(tar) => tar.add('app', join(scratch, 'folder'))],
    entrypoint: ['/app/run'],
  });
  beforeAll(() => {
    mkdirSync(join(scratch, 'folder', DEEP, '..'), { recursive: true });
    writeFileSync(join(scratch, 'folder', DEEP), 'deep down');
    writeFileSync(join(scratch, 'folder', 'run'), 'x'.repeat(3_000_000), { mode: 0o755 });
    symlinkSync('run', join(scratch, 'folder', 'start'));
  });

  it('is read by tar: files, modes, links and long paths', () => {
    writeImage(join(scratch, 'a.tar'), scratch, image());
    const out = join(scratch, 'out');
    mkdirSync(out);
    execFileSync('tar', ['-xf', join(scratch, 'a.tar'), '-C', out]);
    const [{ Layers, RepoTags }] = JSON.parse(readFileSync(join(out, 'manifest.json'), 'utf8'));
    expect(RepoTags).toEqual(['localhost/a:1']);
    execFileSync('tar', ['-xf', join(out, Layers[0]), '-C', out]);
    expect(readFileSync(join(out, 'app', DEEP), 'utf8')).toBe('deep down');
    expect(readFileSync(join(out, 'app', 'start')).length).toBe(3_000_000);
    const listing = execFileSync('tar', ['-tvf', join(out, Layers[0])], { encoding: 'utf8' });
    expect(listing).toMatch(/^-rwxr-xr-x .*app\/run$/m);
    expect(listing).toMatch(/^l.*app\/start -> run$/m);
  });

  it('is the same, byte for byte, however old its files are', () => {
    writeImage(join(scratch, 'b.tar'), scratch, image());
    utimesSync(join(scratch, 'folder', 'run'), 1, 1);
    writeImage(join(scratch, 'c.tar'), scratch, image());
    expect(readFileSync(join(scratch, 'b.tar')).equals(readFileSync(join(scratch, 'c.tar')))).toBe(true);
  });

  it('is refused when a path is too long, not truncated', () => {
    const long = 'n'.repeat(101);
    writeFileSync(join(scratch, long), '');
    expect(() =>
      writeImage(join(scratch, 'd.tar'), scratch, {
        ...image(),
        layers: [(tar) => tar.add(long, join(scratch, long))],
      }),
    ).toThrow(/does not fit/);
  });
});
