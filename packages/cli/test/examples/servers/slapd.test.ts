import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { freePort } from '@handover/test-api-server';
import { expect, test } from 'vitest';
import { program } from '../programs.ts';
import { accepts, perCall } from './clients.ts';
import { expectRotated, rotatedTwice } from './rotated.ts';
import { stageOf } from './stage.ts';

test('slapd, probed through StartTLS of LDAP, is restarted once for each rotation, and calls fail only while it is down', async () => {
  const port = await freePort();
  const stage = await stageOf('OpenLDAP', { '127.0.0.1:389': `127.0.0.1:${port}` });
  const config = join(stage.dir, 'slapd.conf');
  spawnSync('install', ['-d', '-o', 'openldap', '-g', 'openldap', join(stage.dir, 'data')]);
  const database = [
    'include /etc/ldap/schema/core.schema',
    `pidfile ${stage.dir}/data/slapd.pid`,
    'modulepath /usr/lib/ldap',
    'moduleload back_mdb',
    readFileSync(config, 'utf8'),
    'database mdb',
    'suffix dc=example',
    `directory ${stage.dir}/data`,
  ];
  writeFileSync(config, database.join('\n'));
  await stage.handover('run', stage.dir, '--once');
  await stage.serve({
    command: [program('slapd'), '-f', config, '-h', `ldap://127.0.0.1:${port}`, '-d', 'none'],
    user: 'openldap',
    isUp: accepts(port),
  });
  const { ca } = stage.client;
  const at = `127.0.0.1:${port}`;
  const outcome = await rotatedTwice(stage, 'slapd', [
    perCall('ldapwhoami', 'env', [`LDAPTLS_CACERT=${ca}`, 'ldapwhoami', '-x', '-ZZ', '-H', `ldap://${at}`]),
    perCall('openssl', program('openssl'), [
      ...['s_client', '-brief', '-starttls', 'ldap', '-connect', at],
      ...['-CAfile', ca, '-verify_return_error', '-verify_ip', '127.0.0.1'],
    ]),
  ]);
  await expectRotated(stage, outcome, { consumer: 'slapd', restarts: 2 });
  const checked = await stage.handover(
    'tls',
    'check',
    at,
    '--starttls',
    'ldap',
    '--profile',
    'Old',
    '--json',
  );
  expect(JSON.parse(checked.stdout).servers[0].negotiated).toMatchObject({
    kind: 'done',
    version: 'TLS 1.3',
  });
});
