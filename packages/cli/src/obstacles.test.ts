import { appendFileSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { HandoverError } from '@handover/material';
import { temporaryFolder } from '@handover/test-api-server';
import { expect, test } from 'vitest';
import { handover } from '../test/capture.ts';
import { Speaker } from './directory/say-event.ts';

const root = temporaryFolder({ inMemory: true });

test('run --once names three of ten objects that cannot be written, each once, and counts the others', async () => {
  const dir = join(root, 'home');
  await handover(['init', dir]);
  for (let n = 0; n < 10; n++) {
    appendFileSync(
      join(dir, 'handover.yaml'),
      `---\napiVersion: handover.dev/v1alpha1\nkind: Leaf\nmetadata: {name: l${n}}\nspec: {authority: internal, dnsNames: [l${n}]}\n`,
    );
    mkdirSync(join(dir, `out/default/secrets/l${n}`), { recursive: true, mode: 0o755 });
    writeFileSync(join(dir, `out/default/secrets/l${n}/dhparam.pem`), 'theirs');
  }
  const { code, stderr } = await handover(['run', dir, '--once']);
  expect(code).toBe(1);
  const obstacle = (n: number): string =>
    `default/secrets/l${n}: ${dir}/out/default/secrets/l${n} holds files that handover did not write`;
  expect(stderr).toMatch(/^OBJECT_OBSTACLE: /);
  for (const n of [0, 1, 2]) expect(stderr.split(obstacle(n))).toHaveLength(2);
  expect(stderr).not.toContain(obstacle(3));
  expect(stderr).toMatch(/; and 7 more\n$/);
});

test('a message about an obstacle names its object once', () => {
  const says = (what: string): readonly string[] =>
    new Speaker().lines({
      kind: 'failed',
      what,
      error: new HandoverError('OBJECT_OBSTACLE', 'default/secrets/web: is a link'),
      retryAt: undefined,
    });
  expect(says('default/secrets/web')).toEqual(['OBJECT_OBSTACLE: default/secrets/web: is a link']);
  expect(says('Authority default/a')).toEqual([
    'OBJECT_OBSTACLE: Authority default/a: default/secrets/web: is a link',
  ]);
});
