import { execFile } from 'node:child_process';
import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { COMPAT } from '@handover/core';
import { type InstallOptions, installation, type Manifest } from '@handover/install';
import { HandoverError } from '@handover/material';
import { RANDOM_INPUTS, temporaryFolder } from '@handover/test-api-server';
import { type Cluster, findHelm, startCluster } from '@handover/test-cluster';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { resource } from './stage.ts';

const run = promisify(execFile);
const CHART = fileURLToPath(new URL('../../../../deploy/chart/handover', import.meta.url));
const scratch = temporaryFolder();
let helm: string;
let files = 0;

beforeAll(async () => {
  helm = await findHelm((line) => process.stdout.write(`${line}\n`));
}, 1_200_000);

/** The options of an installation as values of the chart: a file, since a namespace may be called null. */
const valuesOf = ({ namespace: _, ...values }: InstallOptions): string => {
  const file = join(scratch, `values-${++files}.json`);
  writeFileSync(file, JSON.stringify(values));
  return file;
};

interface Named {
  readonly kind: string;
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string;
    readonly annotations?: Record<string, string>;
  };
}

const byName = (objects: readonly Manifest[]): ReadonlyMap<string, Manifest> =>
  new Map(
    objects.map((object) => {
      const { kind, metadata } = object as unknown as Named;
      return [`${kind} ${metadata.namespace ?? ''}/${metadata.name}`, object];
    }),
  );

/** What the chart gives for these options; undefined: helm refuses. */
const rendered = async (options: InstallOptions): Promise<readonly Manifest[] | undefined> => {
  const args = ['template', 'handover', CHART, '-n', options.namespace, '-f', valuesOf(options)];
  try {
    const { stdout } = await run(helm, args, { maxBuffer: 64 * 1024 * 1024 });
    return parseAllDocuments(stdout)
      .map((document) => document.toJS() as Manifest | null)
      .filter((object) => object !== null);
  } catch (error) {
    if ((error as { code?: unknown }).code === 1) return undefined;
    throw error;
  }
};

/** What `handover install` prints, as a release of helm has it: without the namespace, and with definitions that helm keeps. */
const expected = (options: InstallOptions): ReadonlyMap<string, Manifest> | undefined => {
  try {
    return byName(
      installation(options)
        .filter(({ kind }) => kind !== 'Namespace')
        .map((object) =>
          object.kind === 'CustomResourceDefinition'
            ? {
                ...object,
                metadata: {
                  annotations: { 'helm.sh/resource-policy': 'keep' },
                  ...(object.metadata as object),
                },
              }
            : object,
        ),
    );
  } catch (error) {
    if (error instanceof HandoverError) return undefined;
    throw error;
  }
};

const compare = async (options: InstallOptions): Promise<void> => {
  const [objects, wanted] = [await rendered(options), expected(options)];
  expect(objects === undefined ? undefined : byName(objects)).toEqual(wanted);
  if (objects !== undefined) expect(objects).toHaveLength(wanted?.size ?? 0);
};

const plain: InstallOptions = { namespace: 'handover-system', image: 'registry.example/handover:1' };

test.each<[string, Partial<InstallOptions>]>([
  ['with nothing but an image', {}],
  ['in another namespace', { namespace: 'elsewhere' }],
  ['in a namespace whose name is a number', { namespace: '1e3' }],
  ['in a namespace called null', { namespace: 'null', namespaced: ['true', 'null', '0x1'] }],
  ['for two namespaces, one of them twice', { namespaced: ['shop', 'pay', 'shop'] }],
  ['for its own namespace and another', { namespace: 'pay', namespaced: ['shop', 'pay'] }],
  ['for its own namespace alone', { namespaced: ['handover-system'], compat: ['reloader'] }],
  [
    'with all there is',
    { compat: COMPAT, openshift: true, signers: ['a.b/c', 'a.b/*'], metricsAuth: 'token', replicas: 3 },
  ],
  ['with metrics by token', { metricsAuth: 'token' }],
  ['with service-ca alone', { compat: ['service-ca'] }],
  ['on OpenShift, for one namespace', { openshift: true, namespaced: ['shop'] }],
])('helm template gives what handover install prints, object by object: %s', async (_, options) => {
  expect(expected({ ...plain, ...options })).toBeDefined();
  await compare({ ...plain, ...options });
});

test('the image is by default that of the version of the chart', async () => {
  const { version } = JSON.parse(readFileSync(join(CHART, '../../../packages/cli/package.json'), 'utf8')) as {
    version: string;
  };
  const objects = await rendered({ ...plain, image: '' });
  expect(byName(objects ?? [])).toEqual(expected({ ...plain, image: `handover:${version}` }));
});

test(
  'made-up options give the same in both, and what one refuses, so does the other',
  RANDOM_INPUTS,
  async () => {
    const mostly = <T>(good: readonly T[], bad: readonly T[]) =>
      fc.oneof(
        { weight: 12, arbitrary: fc.constantFrom(...good) },
        { weight: 1, arbitrary: fc.constantFrom(...bad) },
      );
    const few = <T>(item: fc.Arbitrary<T>, minLength = 0) => fc.array(item, { minLength, maxLength: 3 });
    const options = fc.record(
      {
        namespace: fc.constantFrom('handover-system', 'own', '12', 'y'),
        image: mostly(['a', 'r.example:5000/x/handover@sha256:0a'], ['a b', '{{ fail }}', '-x', 'a"b']),
        namespaced: few(mostly(['shop', 'pay', 'handover-system', 'own', 'on', '12'], ['No', 'a b', '-']), 1),
        compat: few(fc.constantFrom(...COMPAT)),
        openshift: fc.boolean(),
        metricsAuth: fc.constantFrom<('none' | 'token')[]>('none', 'none', 'none', 'token'),
        signers: few(mostly(['a.b/c', 'a.b/*', '1.2/3'], ['a.b', 'a b/c'])),
        replicas: mostly([1, 2, 5], [0, 6, 1.5]),
      },
      { requiredKeys: ['namespace', 'image'] },
    );
    const taken = { yes: 0, no: 0 };
    const seen = fc.asyncProperty(options, async (made) => {
      taken[expected(made) === undefined ? 'no' : 'yes']++;
      await compare(made);
    });
    await fc.assert(seen, { numRuns: 120 });
    expect(taken.yes).toBeGreaterThan(10);
    expect(taken.no).toBeGreaterThan(3);
  },
);

test('a value that there is not is refused, and helm finds nothing to complain about', async () => {
  const odd = { ...plain, replica: 3 } as InstallOptions;
  expect(await rendered(odd)).toBeUndefined();
  const { stdout } = await run(helm, ['lint', '--strict', CHART]);
  expect(stdout).toContain('1 chart(s) linted, 0 chart(s) failed');
});

describe('on a real API server', () => {
  let cluster: Cluster;
  const at = (...args: readonly string[]) =>
    run(helm, [...args, '-n', 'handover-system', '--kubeconfig', cluster.kubeconfig]);
  const get = async (...what: readonly string[]): Promise<string> =>
    (await cluster.kubectl('get', ...what, '--ignore-not-found', '-o', 'name')).trim();

  beforeAll(async () => {
    cluster = await startCluster({ controllerManager: true });
  });
  afterAll(() => cluster?.stop());

  test('helm installs it, and the API server holds what handover install prints', async () => {
    await at('install', 'handover', CHART, '--create-namespace', '-f', valuesOf(plain));
    for (const [name, object] of expected(plain) ?? []) {
      const { kind, metadata } = object as unknown as Named;
      const where = metadata.namespace === undefined ? [] : ['-n', metadata.namespace];
      const found = JSON.parse(await cluster.kubectl('get', kind, metadata.name, ...where, '-o', 'json'));
      // With what the API server fills in; the Deployment's template is the longest of them.
      const { spec, rules } = object as { spec?: object; rules?: object };
      expect([name, found]).toMatchObject([
        name,
        spec === undefined ? (rules === undefined ? {} : { rules }) : { spec },
      ]);
    }
  });

  test('an upgrade brings new definitions and new rights: definitions under crds/ would have stayed as they were', async () => {
    const next = join(scratch, 'next');
    cpSync(CHART, next, { recursive: true });
    const file = join(next, 'templates/crds.yaml');
    const text = readFileSync(file, 'utf8');
    writeFileSync(file, text.replace('shortNames:', 'shortNames:\n      - fresh'));
    expect(await get('authorities')).toBe('');
    await at('upgrade', 'handover', next, '-f', valuesOf({ ...plain, compat: ['service-ca'] }));
    const names = await cluster.kubectl(
      ...['get', 'crd', 'authorities.handover.dev', '-o', 'jsonpath={.spec.names.shortNames}'],
    );
    expect(names).toContain('"fresh"');
    // To read one that an Authority names, and with service-ca to say why one has no certificate.
    const rights = async (): Promise<number> =>
      (await cluster.kubectl('get', 'clusterrole', 'handover', '-o', 'json')).split('"services"').length - 1;
    expect(await rights()).toBe(2);
    await at('rollback', 'handover', '1');
    expect(await rights()).toBe(1);
  });

  test('uninstalled, it leaves the custom resources and the keys; installed again, it has them', async () => {
    const key = {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: 'handover-authority-x', namespace: 'handover-system' },
      stringData: { state: 'a key' },
    };
    await cluster.apply(resource('Authority', 'mesh', {}, 'default'), key);
    await at('uninstall', 'handover');
    expect(await get('deployments', '-n', 'handover-system')).toBe('');
    expect(await get('clusterrole', 'handover')).toBe('');
    expect(await get('validatingadmissionpolicies')).toBe('');
    expect(await get('authorities', '-n', 'default')).toBe('authority.handover.dev/mesh');
    expect(await get('secret', 'handover-authority-x', '-n', 'handover-system')).toBe(
      'secret/handover-authority-x',
    );
    await at('install', 'handover', CHART, '-f', valuesOf(plain));
    expect(await get('authorities', '-n', 'default')).toBe('authority.handover.dev/mesh');
  });

  test('a second one in the cluster shares the definitions', async () => {
    const other = ['-n', 'other', '--create-namespace', '--kubeconfig', cluster.kubeconfig];
    await expect(run(helm, ['install', 'second', CHART, ...other])).rejects.toThrow(
      /invalid ownership metadata/,
    );
    await run(helm, ['install', 'second', CHART, ...other, '--set', 'crds=false']);
    expect(await get('deployments', '-n', 'other')).toBe('deployment.apps/handover');
    expect(await get('clusterrole', 'handover-other')).toContain('handover-other');
    await run(helm, ['uninstall', 'second', '-n', 'other', '--kubeconfig', cluster.kubeconfig]);
    expect(await get('clusterrole', 'handover')).toContain('/handover');
  });

  test('removed for good, as docs/install.md says, it still leaves the Secrets that it issued', async () => {
    const page = readFileSync(join(CHART, '../../../docs/install.md'), 'utf8');
    const commands = [...page.matchAll(/^kubectl (delete .+)$/gm)].map(([, line = '']) => line.split(' '));
    expect(commands).toHaveLength(2);
    const issued = {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: 'issued', namespace: 'default', labels: { 'handover.dev/managed': 'true' } },
      stringData: { 'tls.crt': '' },
    };
    await cluster.apply(issued);
    await cluster.kubectl(
      'label',
      'namespace',
      'handover-system',
      'pod-security.kubernetes.io/enforce=restricted',
    );
    await at('uninstall', 'handover');
    for (const command of commands) await cluster.kubectl(...command);
    expect(await get('crd')).toBe('');
    expect(await get('namespace', 'handover-system')).toBe('');
    expect(await get('secret', 'issued', '-n', 'default')).toBe('secret/issued');
  });
});
