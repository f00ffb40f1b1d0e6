import { defineConfig } from 'vitest/config';
import { NoSkips } from './scripts/ci/no-skips.ts';
import { TestRecord } from './scripts/ci/test-record.ts';

const { HANDOVER_TEST_RECORD: RECORD, HANDOVER_NODE: OTHER_NODE } = process.env;
const CI = process.env.CI === 'true';
/** Tests with real programs are tried once more in CI; the run tells which needed it, and more than three fail it (scripts/ci/summary.mjs). */
const AGAIN = CI ? 1 : 0;
/** CI installs node_modules anew, and with it this cache: what one tier has compiled, the next one reads. */
const COMPILED_ONCE = { fsModuleCache: CI };

interface TierOptions {
  readonly testTimeout?: number;
  readonly env?: Readonly<Record<string, string>>;
  readonly [option: string]: unknown;
}

/** What every tier has. A program that a test starts ends after the time that a test has. */
const tests = (name: string, include: readonly string[], more: TierOptions) => {
  const { testTimeout = 300_000, env = {}, ...rest } = more;
  return {
    name,
    include: [...include],
    testTimeout,
    hookTimeout: 300_000,
    retry: AGAIN,
    setupFiles: ['scripts/ci/end-programs.ts', 'test/api-server/src/key-work.ts'],
    env: { HANDOVER_PROGRAM_MS: String(testTimeout), ...env },
    ...rest,
  };
};

/** One tier of tests: `npx vitest run --project NAME`, or the script in package.json that also builds what the tier needs. */
const tier = (name: string, include: readonly string[], more: TierOptions = {}) => ({
  extends: true as const,
  test: tests(name, include, more),
});

/** A tier on the tarballs of `npm run pack`, apart from the sources. */
const packed = (name: string, include: string) => ({
  test: tests(name, [include], { globalSetup: ['test/pack/src/install.ts'], fileParallelism: false }),
});

const PROGRAMS = { globalSetup: ['packages/cli/test/examples/programs.ts'] };
const CHROMIUM = { globalSetup: ['packages/dashboard/page/test/chromium.ts'] };
const UNIT = [
  'packages/*/src/**/*.test.ts',
  'scripts/**/*.test.mjs',
  'test/{api-server,docs/src,field/src}/**/*.test.ts',
];
/** Unit tests that replace modules or globals: each file has a process of its own. The others share what they load, which halves the time. */
const ALONE = [
  'packages/runtime/src/**/*.test.ts',
  'packages/dashboard/src/stream.test.ts',
  'packages/engine/src/directory/hooks/*.test.ts',
  'packages/engine/src/report/verify.test.ts',
];
/** Unit tests are never tried twice; under other Nodes (npm run test:nodes) they run once more, beside clusters, as tests with real programs do. */
const ONCE = { retry: OTHER_NODE === undefined ? 0 : AGAIN, testTimeout: 30_000 };
/** Beside the sources, as unit tests are. */
const SYSTEM = '{packages/*/src,scripts}/**/*.system.test.{ts,mjs}';
/** What a process shows of itself must not depend on the machine; programs of these tiers call no registry. */
const NO_EXTRA_CAS = { NODE_EXTRA_CA_CERTS: '' };
const ONE_BY_ONE = { fileParallelism: false };

export default defineConfig({
  // Packages of this workspace are read from their sources.
  ssr: { resolve: { conditions: ['source'], externalConditions: ['source'] } },
  resolve: { conditions: ['source'] },
  test: {
    // The default leaves one core free, which is half of a small machine.
    maxWorkers: '100%',
    experimental: COMPILED_ONCE,
    reporters: [
      'default',
      ...(CI ? [new NoSkips()] : []),
      ...(RECORD === undefined ? [] : [new TestRecord(RECORD)]),
    ],
    projects: [
      // npm test
      tier('unit', UNIT, { ...ONCE, exclude: [SYSTEM, ...ALONE], isolate: false, env: NO_EXTRA_CAS }),
      tier('unit-alone', ALONE, { ...ONCE, exclude: [SYSTEM], env: NO_EXTRA_CAS }),
      // Real processes, file systems that hang, real waits.
      tier('system', [SYSTEM], { env: NO_EXTRA_CAS }),
      // The dashboard in a real Chromium. As root it installs Debian's.
      tier('browser', ['packages/dashboard/page/test/**/*.test.ts'], { ...CHROMIUM, ...ONE_BY_ONE }),
      // Against a real Kubernetes. Each file has a cluster of its own, which waits more than it works.
      tier('cluster', ['test/cluster/*.test.ts', 'packages/*/test/cluster/**/*.test.ts'], { maxWorkers: 3 }),
      // Some of it on the oldest Kubernetes that is supported: what it installs, serves and writes there.
      tier(
        'cluster-oldest',
        [
          'test/cluster/control-plane.test.ts',
          'packages/kube/test/cluster/contract.test.ts',
          'packages/operator/test/cluster/{authority,crds,install,trust-bundle-api,workloads}.test.ts',
        ],
        { maxWorkers: 2, env: { HANDOVER_KUBERNETES: 'oldest' } },
      ),
      // Every command of every document. One document: npm run test:docs -- -t start.md
      // The first run builds cert-manager.
      tier('docs', ['test/docs/*.test.ts'], { ...PROGRAMS, testTimeout: 1_800_000 }),
      // examples/ with the real programs, and a home of 1,000 leaves. As root it installs Debian's packages. Rotations wait more than they work.
      tier(
        'examples',
        ['packages/cli/test/examples/**/*.test.ts', 'packages/engine/test/large/**/*.test.ts'],
        { ...PROGRAMS, maxWorkers: 2 },
      ),
      // README's first command on a fresh clone, watched in a browser. Needs a registry.
      tier('newcomer', ['test/newcomer/*.test.ts'], { ...CHROMIUM, testTimeout: 600_000 }),
      // Clients in other languages: their own tests, and the conformance cases over real files and sockets. Needs Go, cargo,
      // a JDK and Python; the first run compiles Go's own packages for the race detector.
      tier('clients', ['clients/**/*.test.ts'], { testTimeout: 900_000, hookTimeout: 900_000 }),
      // Chain verdicts against `openssl verify`, and what `tls check` sees of `openssl s_server`.
      tier('openssl', ['packages/{core,material,cli}/test/openssl/**/*.test.ts'], {
        globalSetup: ['packages/cli/test/openssl/programs.ts'],
        ...ONE_BY_ONE,
        testTimeout: 600_000,
      }),
      // The two published packages, packed and installed as their users have them. Needs a registry for other Nodes.
      packed('pack', 'test/pack/*.test.ts'),
      // Rotations under load in a whole cluster, pods included. Needs root.
      tier('rotation', ['packages/operator/test/rotation/**/!(core).test.ts'], {
        ...ONE_BY_ONE,
        testTimeout: 1_800_000,
        hookTimeout: 600_000,
      }),
      // Its core, in one cluster.
      tier('rotation-core', ['packages/operator/test/rotation/core.test.ts'], { testTimeout: 1_800_000 }),
      // The programs of the four incidents (docs/scenarios.md), built or installed by the tests. Needs root, Go, cargo and Python.
      tier('field', ['test/field/!(src)/**/*.test.ts'], {
        ...ONE_BY_ONE,
        testTimeout: 1_800_000,
        hookTimeout: 900_000,
      }),
      // A server and client of others with the packed runtime, unchanged: a part of test:field as well as of test:pack.
      packed('field-packed', 'test/pack/third-party.test.ts'),
      // Chains of a rotation judged by other verifiers. Needs openssl, certtool, Java, Go and cargo; the first run builds the judges.
      tier('verdicts', ['test/verdicts/*.test.ts'], {
        // Vitest's own --update is about snapshots; the matrix goes by the same word.
        env: { HANDOVER_UPDATE_VERDICTS: process.argv.includes('--update') ? 'yes' : 'no' },
        hookTimeout: 600_000,
      }),
    ],
  },
});
