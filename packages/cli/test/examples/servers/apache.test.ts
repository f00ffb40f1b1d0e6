import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { freePort } from '@handover/test-api-server';
import { test } from 'vitest';
import { program } from '../programs.ts';
import { accepts, curl, GET, java, python } from './clients.ts';
import { expectRotated, rotatedTwice } from './rotated.ts';
import { stageOf } from './stage.ts';

const CONFIG = (dir: string): string => `
ServerRoot /etc/apache2
ServerName localhost
PidFile ${dir}/run/apache2/apache2.pid
ErrorLog ${dir}/error.log
User www-data
Group www-data
DocumentRoot ${dir}/pages
${['mpm_event', 'authz_core', 'ssl', 'socache_shmcb', 'dir']
  .map((name) => `LoadModule ${name}_module /usr/lib/apache2/modules/mod_${name}.so`)
  .join('\n')}
Include ${dir}/tls.conf
`;

test('Apache loads certificate, key and CAs at SIGUSR1: two rotations without a failed request', async () => {
  const port = await freePort();
  const stage = await stageOf('Apache', { 8443: port });
  for (const folder of ['run/apache2', 'pages']) mkdirSync(join(stage.dir, folder));
  writeFileSync(join(stage.dir, 'pages/index.html'), 'hello');
  writeFileSync(join(stage.dir, 'apache2.conf'), CONFIG(stage.dir));
  await stage.handover('run', stage.dir, '--once');
  await stage.serve({
    command: [program('apache2'), '-D', 'FOREGROUND', '-f', join(stage.dir, 'apache2.conf')],
    isUp: accepts(port),
  });
  const call = { port, send: GET, ...stage.client };
  const outcome = await rotatedTwice(stage, 'Apache', [curl(call), java(call), python(call)]);
  await expectRotated(stage, outcome, { consumer: 'apache' });
});
