import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { handover } from '../../test/capture.ts';
import { authority, homeWith, leaf } from '../../test/home.ts';

test('an object that cannot be written ends rotate --wait, with the id to go on with', async () => {
  const home = homeWith(authority('mesh'), leaf('web', { authority: 'mesh' }));
  expect(await handover(['run', home, '--once'])).toMatchObject({ code: 0 });
  const folder = join(home, 'out/default/secrets/web');
  rmSync(folder, { recursive: true });
  mkdirSync(folder, { mode: 0o755 });
  writeFileSync(join(folder, 'dhparam.pem'), 'theirs');
  const { code, stderr } = await handover([
    ...['rotate', 'mesh', '--id', 'one', '--wait', '--home', `dir:${home}`],
  ]);
  expect(code).toBe(1);
  expect(stderr).toMatch(
    /^OBJECT_OBSTACLE: default\/secrets\/web: .*dhparam\.pem.*; rotation one is started, not finished: .*handover rotate default\/mesh --id one --wait --home dir:/,
  );
});
