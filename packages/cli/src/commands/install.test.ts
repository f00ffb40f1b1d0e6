import { expect, test } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { ERROR_LINE, handover } from '../../test/capture.ts';

test('install prints YAML by default, and the same objects as one List with --json', async () => {
  const plain = await handover(['install', '--namespace', 'hand', '--image', 'a:b']);
  expect({ code: plain.code, stderr: plain.stderr }).toEqual({ code: 0, stderr: '' });
  const json = await handover(['install', '--namespace', 'hand', '--image', 'a:b', '--json']);
  const list = JSON.parse(json.stdout);
  expect(list).toMatchObject({ apiVersion: 'v1', kind: 'List' });
  expect(parseAllDocuments(plain.stdout).map((document) => document.toJS())).toEqual(list.items);
});

test('install names the image of its own version by default', async () => {
  expect((await handover(['install'])).stdout).toMatch(/image: handover:\d+\.\d+\.\d+\n/);
});

test('uninstall prints the objects of install, except for the namespace and the definitions', async () => {
  const flags = ['--namespace', 'hand', '--image', 'a:b', '--replicas', '3', '--json'];
  const items = async (command: string): Promise<readonly { kind: string }[]> =>
    JSON.parse((await handover([command, ...flags])).stdout).items;
  const stays = ['Namespace', 'CustomResourceDefinition'];
  const installed = (await items('install')).filter(({ kind }) => !stays.includes(kind));
  expect((await items('uninstall')).toReversed()).toEqual(installed);
  expect(installed.find(({ kind }) => kind === 'Deployment')).toHaveProperty('spec.replicas', 3);
  const { stdout } = await handover(['uninstall', '--namespace', 'hand']);
  expect(stdout).toMatch(/^# Made by `handover uninstall`/);
  expect(stdout).not.toContain('kind: Namespace\n');
});

test('install --compat is passed to the operator, and adds the rights for it', async () => {
  const { stdout } = await handover(['install', '--compat', 'cainjector, service-ca']);
  expect(stdout).toContain('- --compat\n            - cainjector,service-ca\n');
  const rightsIn = (yaml: string): number => yaml.split('      - services\n').length - 1;
  // To look at them, to say why one has no certificate, and the policy that holds it to that.
  expect(rightsIn(stdout)).toBe(3);
  expect(rightsIn((await handover(['install', '--compat', 'cainjector'])).stdout)).toBe(1);
});

test.each([
  [
    'USAGE',
    ['--compat', 'vault'],
    'unknown value "vault" for --compat; known: cainjector, service-ca, reloader',
  ],
  ['USAGE', ['--replicas', 'two'], '--replicas: "two" is not a number of replicas; use 1 to 5'],
  ['INSTALL_OPTION', ['--replicas', '6'], '6 is not a number of replicas; use 1 to 5'],
  ['INSTALL_OPTION', ['--namespaced', ','], 'no namespace to look at; name at least one'],
  ['INSTALL_OPTION', ['--namespace', 'No'], '"No" is not a namespace'],
  [
    'INSTALL_OPTION',
    ['--namespaced', 'a', '--compat', 'cainjector'],
    '--compat cainjector needs cluster-wide rights; remove cainjector or --namespaced',
  ],
])('install fails with %s for %j, in one line without YAML', async (name, flags, says) => {
  const { code, stdout, stderr } = await handover(['install', ...flags]);
  expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
  expect(stderr).toMatch(ERROR_LINE);
  expect(stderr).toContain(`${name}: ${says}`);
});
