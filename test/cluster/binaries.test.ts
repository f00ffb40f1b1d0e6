import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryFolder } from '@handover/test-api-server';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { cachedBinaries, findBinaries } from './src/binaries.ts';
import { whileLocked } from './src/build-lock.ts';
import { type Binary, NEEDED } from './src/pins.ts';
import { type Places, places } from './src/places.ts';
import { identify } from './src/process-id.ts';

let scratch: string;
beforeEach(() => {
  scratch = temporaryFolder();
});
afterEach(() => {
  vi.unstubAllEnvs();
});

const put = (directory: string, binaries: readonly Binary[]): string => {
  mkdirSync(directory, { recursive: true });
  for (const binary of binaries) writeFileSync(join(directory, binary), '', { mode: 0o755 });
  return directory;
};

describe('binaries', () => {
  const where = (assets?: string): Places => ({ ...places({}), cache: join(scratch, 'cache'), assets });
  const silent = (): void => undefined;
  beforeEach(() => vi.stubEnv('PATH', join(scratch, 'no-go-here')));

  it('come from KUBEBUILDER_ASSETS when it has them all', async () => {
    const assets = put(join(scratch, 'assets'), NEEDED['control-plane']);
    put(cachedBinaries(where()), NEEDED.node);
    expect(await findBinaries(where(assets), NEEDED['control-plane'], silent)).toBe(assets);
  });

  it('come from the cache when KUBEBUILDER_ASSETS lacks one, never from both', async () => {
    const assets = put(join(scratch, 'assets'), NEEDED['control-plane']);
    const cache = put(cachedBinaries(where()), NEEDED.node);
    expect(await findBinaries(where(assets), NEEDED.node, silent)).toBe(cache);
  });

  it('of the oldest release are apart from those of the newest, and never from KUBEBUILDER_ASSETS', async () => {
    const oldest = {
      ...places({ HANDOVER_KUBERNETES: 'oldest', KUBEBUILDER_ASSETS: scratch }),
      cache: scratch,
    };
    expect(oldest).toMatchObject({ release: 'oldest', assets: undefined });
    put(cachedBinaries({ ...oldest, release: 'newest' }), NEEDED.node);
    await expect(findBinaries(oldest, NEEDED['control-plane'], silent)).rejects.toMatchObject({
      code: 'CLUSTER_NO_BINARIES',
    });
    const cache = put(cachedBinaries(oldest), NEEDED['control-plane']);
    expect(await findBinaries(oldest, NEEDED['control-plane'], silent)).toBe(cache);
  });

  it('are not those of a release that is not pinned', () => {
    expect(() => places({ HANDOVER_KUBERNETES: '1.35' })).toThrow(
      'HANDOVER_KUBERNETES is "1.35": set it to newest or oldest',
    );
  });

  it('are requested in one line when there are none and there is no Go to build them', async () => {
    const error: unknown = await findBinaries(where(), NEEDED['control-plane'], silent).catch(
      (e: unknown) => e,
    );
    expect(error).toMatchObject({
      code: 'CLUSTER_NO_BINARIES',
      message: expect.stringMatching(/^no etcd, kube-apiserver, kubectl: install Go .*$/),
    });
  });
});

describe('the lock of a build', () => {
  it('makes others wait until the work is done', async () => {
    const lock = join(scratch, 'lock');
    const events: string[] = [];
    let done = (): void => undefined;
    const first = whileLocked(
      lock,
      () => undefined,
      async () => {
        events.push('first begins');
        await new Promise<void>((resolve) => {
          done = resolve;
        });
        events.push('first ends');
      },
    );
    const second = whileLocked(
      lock,
      (holder) => {
        events.push(`waiting for ${holder?.pid === process.pid ? 'this process' : 'no process'}`);
        done();
      },
      async () => {
        events.push('second begins');
      },
    );
    await Promise.all([first, second]);
    expect(events).toEqual(['first begins', 'waiting for this process', 'first ends', 'second begins']);
    expect(existsSync(lock)).toBe(false);
  });

  it('is taken over from a process that has ended, even if its pid was reused', async () => {
    const lock = join(scratch, 'lock');
    writeFileSync(lock, JSON.stringify({ ...identify(process.pid), started: 'an earlier boot/1' }));
    await expect(
      whileLocked(
        lock,
        () => undefined,
        async () => 'built',
      ),
    ).resolves.toBe('built');
  });
});
