import { spawnSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryFolder } from '@handover/test-api-server';
import { beforeAll, expect, test } from 'vitest';
import { handover } from '../../test/capture.ts';
import { COMMANDS } from '../commands.ts';

const home = temporaryFolder();
const script = join(home, 'handover.bash');
const trap = join(home, 'trapped');
beforeAll(async () => {
  writeFileSync(script, (await handover(['completion', 'bash'])).stdout);
  for (const id of ['default/internal', 'mesh/edge', 'mesh/$(touch trapped)']) {
    const path = join(home, 'state/authorities', `${id}.json`);
    mkdirSync(join(path, '..'), { recursive: true });
    writeFileSync(path, '');
  }
  writeFileSync(join(home, 'ca.crt'), '');
});

/** What bash offers when Tab is pressed at the end of `line`, or at the bar in it. */
const offered = (line: string): readonly string[] => {
  const [before = '', behind = ''] = line.split('|');
  const { stdout, stderr } = spawnSync(
    'bash',
    [
      '--norc',
      '-c',
      `source "$1"; COMP_LINE="$2" COMP_POINT="$3"; $(complete -p handover | sed 's/.*-F \\([^ ]*\\).*/\\1/'); printf '%s\\n' "\${COMPREPLY[@]}"`,
      'bash',
      script,
      before + behind,
      String(before.length),
    ],
    { encoding: 'utf8', cwd: home },
  );
  expect(stderr).toBe('');
  return stdout.split('\n').filter((word) => word !== '');
};

test('Tab in bash offers every command', () => {
  expect(offered('handover ')).toEqual(Object.keys(COMMANDS));
  expect(offered('handover di')).toEqual(['distrust']);
  expect(offered('handover --v')).toEqual(['--version']);
});

test('Tab in bash offers the flags of the command, and the values that a flag or an argument may have', () => {
  expect(offered('handover rotate --')).toEqual([
    '--home',
    '--kubeconfig',
    '--context',
    '--operator-namespace',
    '--id',
    '--cancel',
    '--wait',
    '--timeout',
    '--json',
    '--help',
  ]);
  expect(offered('handover simulate --strategy ')).toEqual(['phased', 'instant', 'replace', 'carry-over']);
  expect(offered('handover certgen --preset e')).toEqual(['envoy-gateway']);
  expect(offered('handover completion ')).toEqual(['bash', 'zsh', 'fish']);
  expect(offered('handover rotate --timeout ')).toEqual([]);
  expect(offered('handover tls ')).toEqual(['check']);
  expect(offered('handover tls check --profile ')).toEqual(['Old', 'Intermediate', 'Modern']);
  expect(offered('handover tls check --home ')).toEqual(['kube']);
  expect(offered('handover tls check localhost:443 --profile-file ca')).toEqual(['ca.crt']);
});

test('Tab in bash offers the authorities of the home, also of a --home further on, and never runs the name of a file', () => {
  expect(offered('handover rotate ')).toEqual(['default/internal', 'mesh/edge']);
  expect(offered('handover status --json m')).toEqual(['mesh/edge']);
  expect(offered('handover rotate --id q1 d')).toEqual(['default/internal']);
  expect(offered('handover rotate default/internal ')).toEqual([]);
  expect(offered('handover rotate | --home dir:/nonexistent')).toEqual([]);
  expect(spawnSync('test', ['-e', trap]).status).toBe(1);
});

test('Tab in bash offers homes and files, though bash splits words at colons', () => {
  expect(offered('handover status --home ')).toEqual(['dir:']);
  expect(offered(`handover status --home dir:${home}/st`)).toEqual([`${home}/state`]);
  expect(offered('handover inspect ca')).toEqual(['ca.crt']);
  expect(offered('handover inspect ca.crt hand')).toEqual(['handover.bash']);
  expect(offered('handover run st')).toEqual(['state']);
});
