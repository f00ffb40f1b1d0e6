import { expect, test } from 'vitest';
import { files, next, Scope } from '../../test/fixture.ts';
import { MockCa } from '../../test/mock-ca.ts';
import { type StatusSource, statusMetrics } from '../index.ts';

const one = new MockCa('one');
const two = new MockCa('two');

const linesOf = (text: string): readonly string[] => text.trim().split('\n');

test('the metrics show the CAs and the leaf that are in use, and follow a reload', async () => {
  const scope = new Scope();
  const volume = scope.volume(files(one.leaf(), one));
  const [trust, identity] = [await scope.trust(volume), await scope.identity(volume)];
  const metrics = statusMetrics([trust, identity]);
  const shown = () => {
    const { anchors = [], path } = trust.status();
    const { leaf, anchors: own = [], path: of } = identity.status();
    return [
      '# HELP tls_trust_anchor_info CA certificates in use.',
      '# TYPE tls_trust_anchor_info gauge',
      ...anchors.map((sha256) => `tls_trust_anchor_info{source="${path}",sha256="${sha256}"} 1`),
      ...own.map((sha256) => `tls_trust_anchor_info{source="${of}",sha256="${sha256}"} 1`),
      '# HELP tls_leaf_info Leaf certificates in use.',
      '# TYPE tls_leaf_info gauge',
      `tls_leaf_info{source="${of}",sha256="${leaf?.fingerprint}",issuer_key_id="${leaf?.issuerKeyId}",not_after="${leaf?.notAfter}"} 1`,
    ];
  };
  const before = linesOf(metrics());
  expect(before).toEqual(shown());
  const reloaded = [next(trust, 'reloaded'), next(identity, 'reloaded')];
  volume.write(files(two.leaf(), two, one));
  await Promise.all(reloaded);
  expect(linesOf(metrics())).toEqual(shown());
  expect(linesOf(metrics())).not.toEqual(before);
});

test('two sources of one file are two sources in the metrics, and a path is escaped', () => {
  const of = (path: string, ...anchors: readonly string[]): StatusSource => ({
    status: () => ({ kind: 'trust', path, anchors, loads: 1, loadedAt: '', age: 0 }),
    on: () => undefined,
  });
  const path = '/a\\"\n';
  const text = statusMetrics([of(path, 'aa'), of(path, 'bb')])();
  expect(linesOf(text).slice(2)).toEqual([
    'tls_trust_anchor_info{source="/a\\\\\\"\\n",sha256="aa"} 1',
    'tls_trust_anchor_info{source="/a\\\\\\"\\n 2",sha256="bb"} 1',
  ]);
});

test('the metrics are empty where nothing is said of CAs or leaves, and refuse what is no source', () => {
  expect(statusMetrics([])()).toBe('');
  expect(() => statusMetrics([{}] as never)).toThrow(/sources must be a list/);
});
