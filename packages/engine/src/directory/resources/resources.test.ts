import { statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test, vi } from 'vitest';
import { Document } from 'yaml';
import { codeOf, Directories } from '../../../test/directories.ts';
import { MESH } from '../../../test/world.ts';
import { passOnce, readYaml } from '../../index.ts';

const directories = new Directories();

test.each([
  ['a: [1', 'm.yaml:1:', 'YAML_INVALID'],
  ['a: 1\na: 2\n', 'm.yaml:2:1', 'YAML_INVALID'],
  ['ok: 1\n---\n\tbad: tab\n', 'm.yaml:3:', 'YAML_INVALID'],
])('YAML %j is refused with its line and column', async (text, place, code) => {
  const says = await codeOf(() => readYaml(text, 'm.yaml'));
  expect(says).toContain(`${code}: ${place}`);
  expect(says).not.toContain('\n');
});

test('YAML with many keys takes linear time to read, not quadratic', () => {
  const keys = (count: number) => Array.from({ length: count }, (_, index) => `k${index}: 1`).join('\n');
  /** Milliseconds of a processor: what other processes take of it does not count. */
  const spent = (text: string): number => {
    const began = process.cpuUsage();
    expect(readYaml(text, 'm.yaml')).toHaveLength(1);
    const { user, system } = process.cpuUsage(began);
    return (user + system) / 1_000;
  };
  spent(keys(8_000)); // warms up the parser
  // Eight times the keys take 8 times as long when time is linear, 64 times when quadratic. At least 100 ms, against noise.
  const few = Math.max(spent(keys(5_000)), 100);
  expect(spent(keys(40_000))).toBeLessThan(5 * 8 * few);
});

test.each([
  ['a: {b: 1, c: 2, b: 3}', 'm.yaml:1:17'],
  ['a:\n  - b: 1\n    "b": 2\n', 'm.yaml:3:5'],
])('YAML %j gives a key twice, and is refused', async (text, place) => {
  expect(await codeOf(() => readYaml(text, 'm.yaml'))).toBe(
    `YAML_INVALID: ${place}: the key b is given twice; remove one of the two`,
  );
});

test.each([
  ['closed', `${'['.repeat(3_000)}${']'.repeat(3_000)}`, 101],
  ['not closed', '['.repeat(20_000), 101],
  ['maps', `a: ${'{a: '.repeat(3_000)}1${'}'.repeat(3_000)}`, 397],
  ['lists of blocks', `${'- '.repeat(3_000)}1`, 201],
])('YAML that is nested too deep is refused: %s', async (_, text, column) => {
  expect(await codeOf(() => readYaml(`# one\n${text}`, 'm.yaml'))).toBe(
    `YAML_INVALID: m.yaml:2:${column}: more than 100 levels inside each other; correct the YAML there`,
  );
});

test('YAML whose aliases expand without end is refused', async () => {
  const bomb = [
    'a0: &a0 [x,x,x,x,x,x,x,x,x]',
    ...Array.from({ length: 9 }, (_, i) => `a${i + 1}: &a${i + 1} [${Array(9).fill(`*a${i}`).join()}]`),
  ].join('\n');
  expect(await codeOf(() => readYaml(bomb, 'm.yaml'))).toMatch(/^YAML_INVALID: m\.yaml:1:1/);
});

test('YAML that a fault of our own keeps from being read is not called invalid', () => {
  const toJs = vi.spyOn(Document.prototype, 'toJS').mockImplementation(() => {
    throw new TypeError('x is not a function');
  });
  try {
    expect(() => readYaml('a: 1', 'm.yaml')).toThrow(TypeError);
  } finally {
    toJs.mockRestore();
  }
});

test('YAML with a bad field names file, place and field', async () => {
  const path = directories.make(MESH.replace('1y', 'soon'));
  expect(await codeOf(() => directories.home(path).load())).toMatch(
    /^RESOURCE_INVALID: mesh\.yaml:5:8: Authority mesh: spec\.lifetime: "soon" is not a duration/,
  );
});

describe('Many resources', () => {
  const many = (count: number) =>
    [
      MESH,
      ...Array.from(
        { length: count },
        (_, index) => `
apiVersion: handover.dev/v1alpha1
kind: Leaf
metadata: {name: leaf-${index}}
spec: {authority: mesh, dnsNames: [leaf-${index}.local]}
`,
      ),
    ].join('---');

  test('Many resources are cached beside the state, and parsed again as soon as one letter changes', async () => {
    const path = directories.make(many(60));
    const home = directories.home(path);
    const lock = await home.lock();
    await passOnce(home, home.load(), () => {});
    await lock.release();
    const cache = join(path, 'state/resources.json');
    expect((statSync(cache).mode & 0o777).toString(8)).toBe('600');
    expect(directories.home(path).load().leaves).toHaveLength(62);
    writeFileSync(join(path, 'mesh.yaml'), many(60).replace('leaf-7.local', 'leaf-x.local'));
    expect(directories.home(path).load().leaves[9]?.spec.dnsNames).toEqual(['leaf-x.local']);
    writeFileSync(join(path, 'mesh.yaml'), many(60));
    writeFileSync(cache, '{"digest":');
    expect(directories.home(path).load().leaves).toHaveLength(62);
  });
});
