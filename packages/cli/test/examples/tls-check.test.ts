import { spawn, spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { freePort } from '@handover/test-api-server';
import { expect, test } from 'vitest';
import { directory, example, handover, started } from './around.ts';
import { program } from './programs.ts';

const INTERMEDIATE =
  'ssl_protocols TLSv1.2 TLSv1.3; ssl_ciphers ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-ECDSA-AES256-GCM-SHA384;';
const MODERN = 'ssl_protocols TLSv1.3;';

test('tls check sees the profile of nginx’s configuration, before and after a reload', async () => {
  const dir = directory();
  const port = await freePort();
  const nginx = program('nginx');
  const config = join(dir, 'nginx.conf');
  const configure = (settings: string): void =>
    writeFileSync(
      config,
      example('nginx/nginx.conf')
        .replaceAll('/etc/handover', dir)
        .replaceAll('8443', String(port))
        .replace('/run/nginx.pid', `${dir}/nginx.pid`)
        .replace('location /', `${settings}\n    location /`),
    );
  const resources = example('nginx/handover.yaml').replace(/ {2}reload:[\s\S]*/, '');
  writeFileSync(join(dir, 'handover.yaml'), resources.replaceAll('8443', String(port)));
  await handover('run', dir, '--once');
  configure(INTERMEDIATE);
  started(spawn(nginx, ['-c', config, '-g', 'daemon off;'], { stdio: 'ignore' }));
  const check = async (profile: string): Promise<{ code: number; codes: readonly string[] }> => {
    const args = ['tls', 'check', `localhost:${port}`, '--profile', profile, '--timeout', '30s', '--json'];
    const { code, stdout } = await handover(...args);
    const [{ mismatches, unknowns }] = JSON.parse(stdout).servers;
    return { code, codes: [...mismatches, ...unknowns].map((finding: { code: string }) => finding.code) };
  };
  await expect.poll(() => check('Intermediate'), { timeout: 60_000 }).toEqual({ code: 0, codes: [] });
  expect(await check('Modern')).toEqual({ code: 1, codes: ['VERSION_ACCEPTED'] });
  configure(MODERN);
  expect(spawnSync(nginx, ['-c', config, '-s', 'reload']).status).toBe(0);
  await expect.poll(() => check('Modern'), { timeout: 60_000 }).toEqual({ code: 0, codes: [] });
  expect(await check('Intermediate')).toEqual({ code: 1, codes: ['VERSION_REFUSED'] });
});
