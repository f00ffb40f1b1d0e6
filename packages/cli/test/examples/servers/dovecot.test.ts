import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { freePort } from '@handover/test-api-server';
import { expect, test } from 'vitest';
import { program } from '../programs.ts';
import { accepts, perCall, python } from './clients.ts';
import { expectRotated, rotatedTwice } from './rotated.ts';
import { stageOf } from './stage.ts';

const CONFIG = (dir: string, port: number): string => `
base_dir = ${dir}/run/dovecot
state_dir = ${dir}/run
log_path = ${dir}/dovecot.log
listen = 127.0.0.1
protocols = imap
passdb {
  driver = static
  args = nopassword=y
}
service imap-login {
  inet_listener imap {
    port = ${port}
  }
  inet_listener imaps {
    port = 0
  }
}
!include 99-tls.conf
`;

test('Dovecot loads its certificate at doveadm reload: two rotations without a failed session', async () => {
  const port = await freePort();
  const stage = await stageOf('Dovecot', {
    '127.0.0.1:143': `127.0.0.1:${port}`,
    '/etc/dovecot': '/etc/handover',
  });
  mkdirSync(join(stage.dir, 'run/dovecot'));
  writeFileSync(join(stage.dir, 'dovecot.conf'), CONFIG(stage.dir, port));
  await stage.handover('run', stage.dir, '--once');
  await stage.serve({
    command: [program('dovecot-imapd'), '-F', '-c', join(stage.dir, 'dovecot.conf')],
    isUp: accepts(port),
  });
  const outcome = await rotatedTwice(stage, 'Dovecot', [
    perCall('curl', program('curl'), [
      '-sS',
      '--ssl-reqd',
      '--cacert',
      stage.client.ca,
      '--request',
      'CAPABILITY',
      `imap://localhost:${port}/`,
    ]),
    python({ port, starttls: 'imap', ca: stage.client.ca }),
  ]);
  await expectRotated(stage, outcome, { consumer: 'dovecot' });
  const asked = ['--starttls', 'imap', '--profile', 'Old', '--json'];
  const checked = await stage.handover('tls', 'check', `127.0.0.1:${port}`, ...asked);
  expect(JSON.parse(checked.stdout).servers[0]).toMatchObject({
    unknowns: [],
    negotiated: { kind: 'done', version: 'TLS 1.3' },
  });
});
