import { expect, test } from 'vitest';
import { problemsIn } from './layers.mjs';

const messages = (layer, path, source) =>
  problemsIn(layer, path, source).map((p) => `${p.line}: ${p.message}`);

test('an import against the arrows is reported with its line', () => {
  expect(
    messages(
      'core',
      'packages/core/src/a.ts',
      "import a from '@handover/material';\nimport b from '@handover/sim';",
    ),
  ).toEqual(['2: core may not import @handover/sim']);
  expect(messages('sim', 'packages/sim/src/a.ts', "import { plan } from '@handover/core';")).toEqual([]);
});

test('a relative path cannot lead into another package', () => {
  expect(messages('core', 'packages/core/src/a.ts', "export { x } from '../../sim/src/x.ts';")).toHaveLength(
    1,
  );
  expect(messages('core', 'packages/core/src/a/b.ts', "export { x } from '../x.ts';")).toEqual([]);
});

test('pure packages have no clock, no randomness and no files, comments aside', () => {
  expect(messages('core', 'packages/core/src/a.ts', '// Date.now is banned\nconst t = Date.now();')).toEqual([
    '2: Date.now: time is an argument',
  ]);
  expect(
    messages('material', 'packages/material/src/a.ts', "import { readFileSync } from 'node:fs';"),
  ).toEqual(['1: no I/O']);
  expect(messages('runtime', 'packages/runtime/src/a.ts', 'const t = Date.now();')).toEqual([]);
});

test('an unlisted dependency is refused outside tests', () => {
  expect(messages('material', 'packages/material/src/a.ts', "import x from 'lodash';")).toHaveLength(1);
  expect(messages('material', 'packages/material/src/a.test.ts', "import fc from 'fast-check';")).toEqual([]);
});

test('folders of a package import in one direction', () => {
  const found = (path, source) => messages('engine', path, source);
  expect(found('packages/engine/src/snapshot/a.ts', "import { b } from '../act/b.ts';")).toEqual([
    '1: snapshot may not import ../act/b.ts: act stands above it',
  ]);
  expect(found('packages/engine/src/act/a.ts', "import { b } from '../snapshot/b.ts';")).toEqual([]);
  expect(found('packages/engine/src/act/a.test.ts', "import { b } from '../directory/b.ts';")).toEqual([]);
  expect(found('packages/engine/src/index.ts', "export { b } from './directory/b.ts';")).toEqual([]);
  expect(found('packages/engine/src/new/a.ts', "import { b } from '../snapshot/b.ts';")).toHaveLength(1);
  const inside = 'packages/engine/src/directory';
  expect(found(`${inside}/disk/a.ts`, "import { b } from '../objects/b.ts';")).toEqual([
    '1: disk may not import ../objects/b.ts: objects stands above it',
  ]);
  expect(found(`${inside}/objects/a.ts`, "import { b } from '../home.ts';")).toEqual([
    '1: objects may not import ../home.ts: engine/directory stands above it',
  ]);
  expect(found(`${inside}/objects/a.ts`, "import { b } from '../../act/b.ts';")).toEqual([]);
  expect(found('packages/engine/src/act/a.ts', "import { b } from '../directory/disk/b.ts';")).toHaveLength(
    1,
  );
});
test.each(['@handover/test-cluster', '@handover/test-api-server', '@handover/test-api-server/contract'])(
  '%s is for tests and benchmarks of every layer, and for nothing else',
  (name) => {
    const source = `import { start } from '${name}';`;
    expect(messages('kube', 'packages/kube/src/a.test.ts', source)).toEqual([]);
    expect(messages('kube', 'packages/kube/test/cluster/a.ts', source)).toEqual([]);
    expect(messages('kube', 'packages/kube/bench/a.ts', source)).toEqual([]);
    expect(messages('kube', 'packages/kube/src/a.ts', source)).toEqual([
      `1: ${name} is for tests and benchmarks`,
    ]);
  },
);

test('errors have typed codes, and annotations have one name', () => {
  const found = (path, source) => messages('engine', path, source);
  const error = "throw new HandoverError('X_Y', 'z');";
  const name = "const a = annotations['handover.dev/reload'];";
  expect(found('packages/engine/src/a.ts', error)).toHaveLength(1);
  expect(found('packages/engine/src/a.test.ts', error)).toEqual([]);
  expect(found('packages/engine/src/a.ts', name)).toEqual([
    '1: names of annotations and labels stand in core/src/contract',
  ]);
  expect(found('packages/engine/src/a.ts', `// ${name}`)).toEqual([]);
  expect(found('packages/engine/src/a.ts', "const v = 'handover.dev/object/1';")).toEqual([]);
});

test('the operator keeps and lists objects of the API server in one place', () => {
  const watch = 'const all = new Informer(kube, pods, {});';
  const list = 'const { items } = await kube.list(pods, {});';
  const message =
    '1: objects of the API server come in through Watched and listed (operator/src/cache/watched.ts)';
  for (const source of [watch, list]) {
    expect(messages('operator', 'packages/operator/src/workloads/a.ts', source)).toEqual([message]);
    expect(messages('operator', 'packages/operator/src/cache/watched.ts', source)).toEqual([]);
    expect(messages('kube', 'packages/kube/src/lease.ts', source)).toEqual([]);
  }
});
