// Real programs, which take real time.
import { X509Certificate } from 'node:crypto';
import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { systemClock } from '@handover/runtime/clock';
import { expect, test } from 'vitest';
import { loaded } from '../../../test/directories.ts';
import { MESH_ID, MeshHomes, meshYaml, pairOf } from '../../../test/mesh-home.ts';
import { converge, type DirectoryHome } from '../../index.ts';

const homes = new MeshHomes();
const pass = (home: DirectoryHome) => converge(loaded(home), MESH_ID);

/** A home whose consumer is asked by a program; what it does is written into it later. */
const asking = async (program: string) => {
  const path = homes.make(
    meshYaml('{name: radio, presents: true, leaf: a, probe: {command: [./ask, radio.example]}}'),
  );
  const ask = join(path, 'ask');
  const does = (text: string): void => {
    writeFileSync(ask, `#!/bin/sh\n${text}\n`);
    chmodSync(ask, 0o700);
  };
  does(program);
  // The programs take real time.
  const home = homes.home(path, undefined, { timers: systemClock });
  await pass(home);
  return { home, does, ask };
};

const rotating = async (home: DirectoryHome): Promise<void> => {
  await home.requests.ask({ authority: MESH_ID, rotate: 'r' });
  await pass(home);
  homes.later(30_000);
  await pass(home);
  homes.later(30_000);
};
const waitsFor = async (home: DirectoryHome): Promise<string> => {
  const { plan } = await pass(home);
  return `${plan.phase} ${plan.blockedBy.map(({ consumer, waitsFor }) => `${consumer} ${waitsFor}`).join()}`;
};
const TLS_CRT = 'out/default/secrets/a/tls.crt';

test.each([
  ['the certificate in PEM', (cert: string) => `cat <<'EOF'\n${cert}EOF`],
  ['its fingerprint', (cert: string) => `echo ${new X509Certificate(cert).fingerprint256}`],
  [
    'its fingerprint as openssl prints it',
    (cert: string) => `echo "sha256 Fingerprint=${new X509Certificate(cert).fingerprint256}"`,
  ],
])('a rotation waits for what a program prints of a server, here %s', async (_, printing) => {
  const { home, does } = await asking('exit 0');
  does(printing(pairOf(home, 'a').cert));
  await rotating(home);
  expect(await waitsFor(home)).toMatch(/^Activating .*radio/);
  does(`[ "$HANDOVER_CONSUMER $1" = "radio radio.example" ] && ${printing(pairOf(home, 'a').cert)}`);
  expect(await waitsFor(home)).toBe('Stable ');
});

test.each([
  ['fails', 'echo "no route" >&2; exit 3', './ask ended with 3, stderr: "no route"'],
  ['prints something else', 'echo 12', './ask prints neither a certificate in PEM nor a SHA-256 fingerprint'],
  ['prints without end', 'while :; do echo 12345678901234567890; done', './ask prints more than 64 KiB'],
  ['prints a fingerprint of another CA', `echo ${'ab'.repeat(32)}`, './ask shows a certificate of a CA'],
])('a program that %s is no evidence, and the reason is told', async (_, text, why) => {
  const { home, does } = await asking(`cat ${TLS_CRT}`);
  await rotating(home);
  does(text);
  const { plan } = await pass(home);
  expect(plan.phase).toBe('Activating');
  expect(JSON.stringify(plan.blockedBy)).toContain(JSON.stringify(why).slice(1, -1));
});

test('a program that another user can change is not run', async () => {
  const { home, ask } = await asking(`cat ${TLS_CRT}`);
  await rotating(home);
  chmodSync(ask, 0o777);
  const { plan } = await pass(home);
  expect(JSON.stringify(plan.blockedBy)).toMatch(/can be changed by other users \(mode 0777\)/);
});
