import { defineConfig } from 'vitest/config';
import { NoSkips } from './scripts/no-skips.ts';

/** One tier of tests: `npx vitest run --project NAME`, or the script in package.json that also builds what the tier needs. */
const tier = (name: string, include: readonly string[], more: object = {}) => ({
  extends: true as const,
  test: { name, include: [...include], testTimeout: 300_000, hookTimeout: 300_000, ...more },
});

/** A tier on the tarballs of `npm run pack`, apart from the sources. */
const packed = (name: string, include: string) => ({
  test: {
    name,
    include: [include],
    globalSetup: ['test/pack/src/install.ts'],
    fileParallelism: false,
    testTimeout: 300_000,
    hookTimeout: 300_000,
  },
});

const PROGRAMS = { globalSetup: ['packages/cli/test/examples/programs.ts'] };
const CHROMIUM = { globalSetup: ['packages/dashboard/page/test/chromium.ts'] };
const ONE_BY_ONE = { fileParallelism: false };

export default defineConfig({
  // Packages of this workspace are read from their sources.
  ssr: { resolve: { conditions: ['source'], externalConditions: ['source'] } },
  resolve: { conditions: ['source'] },
  test: {
    // The default leaves one core free, which is half of a small machine.
    maxWorkers: '100%',
    reporters: process.env.CI === 'true' ? ['default', new NoSkips()] : ['default'],
    projects: [
      // npm test
      tier('unit', [
        'packages/*/src/**/*.test.ts',
        'scripts/**/*.test.mjs',
        'test/{api-server,docs/src,field/src}/**/*.test.ts',
      ]),
      // The dashboard in a real Chromium. As root it installs Debian's.
      tier('browser', ['packages/dashboard/page/test/**/*.test.ts'], { ...CHROMIUM, ...ONE_BY_ONE }),
      // Against a real Kubernetes. Each file has a cluster of its own, which waits more than it works.
      tier('cluster', ['test/cluster/*.test.ts', 'packages/*/test/cluster/**/*.test.ts'], { maxWorkers: 2 }),
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
      // examples/ with the real programs, and a home of 1,000 leaves. As root it installs Debian's packages.
      tier(
        'examples',
        ['packages/cli/test/examples/**/*.test.ts', 'packages/engine/test/large/**/*.test.ts'],
        {
          ...PROGRAMS,
          ...ONE_BY_ONE,
        },
      ),
      // README's first command on a fresh clone, watched in a browser. Needs a registry.
      tier('newcomer', ['test/newcomer/*.test.ts'], { ...CHROMIUM, testTimeout: 600_000 }),
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
