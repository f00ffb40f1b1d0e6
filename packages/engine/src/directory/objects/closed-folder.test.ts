import { chmodSync, chownSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { duration } from '@handover/material';
import { expect, test } from 'vitest';
import { Directories, loaded } from '../../../test/directories.ts';
import { converge, findingsIn, standingOf } from '../../index.ts';

/** Root writes whatever the mode is, so that another user has to look. */
const asRoot = test.skipIf(process.getuid?.() !== 0);
const OTHER = 65_534;
const directories = new Directories();

const giveAway = (path: string): void => {
  chownSync(path, OTHER, OTHER);
  if (!statSync(path).isDirectory()) return;
  for (const entry of readdirSync(path, { withFileTypes: true }))
    if (entry.isDirectory() || entry.isFile()) giveAway(join(path, entry.name));
};

asRoot(
  'a folder that its own owner may not write is a warning, and what the rotation waits for',
  async () => {
    const path = directories.make();
    const first = directories.home(path);
    const lock = await first.lock();
    await converge(loaded(first), 'default/mesh');
    await first.requests.ask({ authority: 'default/mesh', rotate: 'one' });
    await lock.release();
    giveAway(path);
    const folder = join(path, 'out/default/secrets/a');
    const look = async () => {
      const home = loaded(directories.home(path, undefined, { uid: OTHER }));
      const standing = await standingOf(home.fresh, 'default/mesh');
      const warn = duration(0);
      return { standing, findings: findingsIn(standing, { warn, critical: warn }) };
    };
    expect((await look()).findings).toEqual([]);
    chmodSync(folder, 0o555);
    const { standing, findings } = await look();
    expect(findings).toContainEqual({
      severity: 'warning',
      authority: 'default/mesh',
      text: `default/secrets/a: cannot write ${folder}: permission denied; chmod u+w ${folder}`,
    });
    expect(findings.some(({ severity }) => severity === 'critical')).toBe(false);
    expect(JSON.stringify(standing.status)).toContain(`chmod u+w ${folder}`);
    const working = loaded(directories.home(path, undefined, { uid: OTHER }));
    await converge(working, 'default/mesh');
    giveAway(path);
    expect((await look()).standing.status.blockedBy).toContainEqual(
      expect.objectContaining({
        consumer: 'default/secrets/a',
        waitsFor: expect.stringMatching(/^to be writable: .*chmod u\+w /),
      }),
    );
  },
);
