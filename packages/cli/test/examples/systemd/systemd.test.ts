// Against: systemd of Debian 12 as process 1, in namespaces of its own.
import { spawnSync } from 'node:child_process';
import { copyFileSync, existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { directory, example, examplePath } from '../around.ts';
import { program } from '../programs.ts';
import { type Machine, packed, startMachine } from './machine.ts';
import { follow as followOn, well as wellOn } from './page.ts';

const HOME = '/etc/handover';
const OUT = `${HOME}/out/default/secrets/web`;

let machine: Machine;

beforeAll(async () => {
  machine = await startMachine();
  copyFileSync(packed(directory()), machine.path('/root/handover-0.1.0.tgz'));
});
// Also fails if this system was touched.
afterAll(() => machine?.end());

const well = (command: string): Promise<string> => wellOn(machine, command);
const follow = (heading: string): Promise<string> => followOn(machine, heading);

const shown = async (...names: readonly string[]): Promise<Readonly<Record<string, string>>> =>
  Object.fromEntries(
    (await well(`systemctl show handover.service --property=${names.join(',')}`))
      .trim()
      .split('\n')
      .map((line) => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)]),
  );
const fingerprint = (): Promise<string> =>
  well(`openssl x509 -in ${OUT}/tls.crt -noout -fingerprint -sha256`);
const owner = (path: string): { uid: number; mode: string } => {
  const { uid, mode } = statSync(machine.path(path));
  return { uid, mode: (mode & 0o777).toString(8) };
};
const rotate = (as = ''): Promise<string> =>
  well(`${as} handover rotate default/internal --home dir:${HOME} --wait --timeout 60s`);

const YAML = (reload: string, files: string): string => `
apiVersion: handover.dev/v1alpha1
kind: Authority
metadata: { name: internal }
spec: { rotation: { reloadWithin: 1s } }
---
apiVersion: handover.dev/v1alpha1
kind: Leaf
metadata: { name: web }
spec:
  authority: internal
  dnsNames: [localhost]
  files: ${files}
  reload: ${reload}
`;

test('systemd accepts the unit, alone and with the drop-in, and the file for its user', () => {
  const root = directory();
  mkdirSync(join(root, 'etc'));
  for (const [name, ...more] of [['handover.service'], ['handover.service', 'unprivileged.conf']]) {
    const unit = join(directory(), name ?? '');
    writeFileSync(unit, [name, ...more].map((part) => example(`systemd/${part}`)).join('\n'));
    const verdict = spawnSync(program('systemd'), ['verify', '--man=no', unit], { encoding: 'utf8' });
    expect(verdict).toMatchObject({ status: 0, stderr: '' });
  }
  const made = spawnSync('systemd-sysusers', ['--root', root, examplePath('systemd/sysusers.conf')], {
    encoding: 'utf8',
  });
  expect(made.status, made.stderr).toBe(0);
  expect(readFileSync(join(root, 'etc/passwd'), 'utf8')).toMatch(/^handover:.*:\/etc\/handover:\S*nologin$/m);
});

test('the commands of the page install the package, the service, completion and the manual', async () => {
  await follow('Install');
  expect(await shown('ActiveState', 'UnitFileState')).toEqual({
    ActiveState: 'active',
    UnitFileState: 'enabled',
  });
  expect(owner(`${OUT}/tls.key`)).toEqual({ uid: 0, mode: '600' });
  expect(await well('bash -c "source /etc/bash_completion.d/handover; complete -p handover"')).toContain(
    'handover',
  );
  expect(existsSync(machine.path('/usr/share/man/man1/handover.1'))).toBe(true);
});

test('a leaf is rotated, belongs to the user that it names, and its hook reloads a unit', async () => {
  await well('useradd --system web');
  writeFileSync(
    machine.path('/etc/systemd/system/web.service'),
    '[Service]\nExecStart=sleep infinity\nExecReload=sh -c "echo reloaded >> /var/reloads"\n',
  );
  await well('systemctl daemon-reload; systemctl start web.service');
  writeFileSync(
    machine.path(`${HOME}/handover.yaml`),
    YAML('{ systemd: { unit: web.service } }', '{ owner: web, mode: "0400" }'),
  );
  const first = await fingerprint();
  await rotate();
  expect(await fingerprint()).not.toBe(first);
  const { uid } = owner(`${OUT}/tls.key`);
  expect(await well('id -u web')).toBe(`${uid}\n`);
  expect(owner(`${OUT}/tls.key`).mode).toBe('400');
  expect(readFileSync(machine.path('/var/reloads'), 'utf8')).toContain('reloaded\n');
});

test('a unit that reads its files only when it starts is restarted once per rotation, and that is evidence', async () => {
  writeFileSync(
    machine.path('/etc/systemd/system/web.service'),
    '[Service]\nExecStart=sh -c "cat /etc/handover/out/default/secrets/web/tls.crt >> /var/starts; exec sleep infinity"\n',
  );
  await well('systemctl daemon-reload');
  writeFileSync(
    machine.path(`${HOME}/handover.yaml`),
    YAML('{ systemd: { unit: web.service, action: restart } }', '{ owner: web, mode: "0400" }'),
  );
  // A hook that was edited runs once.
  const started = machine.path('/var/starts');
  await expect.poll(() => existsSync(started), { timeout: 30_000 }).toBe(true);
  await well('systemctl is-active web.service && rm /var/starts');
  await rotate();
  // What the unit read at its one start: the new leaf and the cross-certificate.
  expect(readFileSync(started, 'utf8')).toBe(readFileSync(machine.path(`${OUT}/tls.crt`), 'utf8'));
  const { authorities } = JSON.parse(await well(`handover status --json --home dir:${HOME}`));
  expect(authorities[0].consumers).toContainEqual(
    expect.objectContaining({ name: 'program of Leaf default/web', evidence: 'restarted' }),
  );
});

test('killed, it is started again and rotates', async () => {
  const { MainPID: first } = await shown('MainPID');
  await well('systemctl kill --signal=KILL handover.service');
  await expect
    .poll(() => shown('NRestarts', 'SubState'), { timeout: 30_000 })
    .toEqual({ NRestarts: '1', SubState: 'running' });
  expect((await shown('MainPID')).MainPID).not.toBe(first);
  await rotate();
});

test('a directory that cannot be read does not end the service for good', async () => {
  const path = machine.path(`${HOME}/handover.yaml`);
  const good = readFileSync(path, 'utf8');
  // A document that is wrong freezes what it declared; two of one name leave nothing to go on with.
  writeFileSync(path, `${good}\n---\n${good}`);
  await well('systemctl kill --signal=KILL handover.service');
  // systemd's own limit is 5 starts in 10 s.
  await expect
    .poll(async () => Number((await shown('NRestarts')).NRestarts), { timeout: 120_000 })
    .toBeGreaterThan(6);
  writeFileSync(path, good);
  await expect
    .poll(() => machine.sh(`journalctl -u handover --since=-3s | grep Stable`).then(({ code }) => code), {
      timeout: 60_000,
    })
    .toBe(0);
});

test('stopped, it ends with success and leaves no lock', async () => {
  await well('systemctl stop handover.service');
  expect(await shown('ActiveState', 'Result', 'ExecMainStatus')).toEqual({
    ActiveState: 'inactive',
    Result: 'success',
    ExecMainStatus: '0',
  });
  await well(`handover run ${HOME} --once`);
});

test('as user handover it rotates too, and its files belong to that user', async () => {
  writeFileSync(machine.path(`${HOME}/handover.yaml`), YAML('{ command: ["true"] }', '{ mode: "0640" }'));
  await follow('Which user it runs as');
  const as = 'runuser -u handover --';
  await expect
    .poll(async () => (await machine.sh(`${as} handover check --home dir:${HOME}`)).stdout, {
      timeout: 20_000,
    })
    .toContain(' OK');
  await rotate(as);
  const { uid, mode } = owner(`${OUT}/tls.key`);
  expect({ uid: `${uid}\n`, mode }).toEqual({ uid: await well('id -u handover'), mode: '640' });
  expect(await machine.sh(`handover status --home dir:${HOME}`)).toMatchObject({ code: 1 });
});

test('an upgrade continues, and a removal leaves the certificates', async () => {
  await follow('Upgrade');
  expect(await shown('ActiveState')).toEqual({ ActiveState: 'active' });
  await follow('Remove');
  expect((await machine.sh('handover --version')).code).toBe(127);
  expect(existsSync(machine.path(`${OUT}/tls.key`))).toBe(true);
});
