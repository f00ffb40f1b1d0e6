/** Servers of a document, each on a port that it names, and their output when they are ready, or the file that they write then. */
const LISTENING: readonly (readonly [command: RegExp, ready: RegExp, file?: string])[] = [
  [/^(node server\.mjs|\.\/shop\/shop|cargo run|python3 examples\/python\/server\.py|java -cp)/, /listening/],
  [/^nginx .*daemon off/, /^/, 'nginx.pid'],
  [/^runuser .* postgres -D /, /ready to accept connections/],
];
export const SERVERS: readonly RegExp[] = LISTENING.map(([command]) => command);

/** Commands that run until they are stopped, and their output when they are ready, or the file that they write then. */
export const LONG_RUNNING: typeof LISTENING = [
  [/^(npx )?handover operator\b/, /"event":"leads"/],
  [/^(npx )?handover run (?!.*--once)/, /Stable/],
  [/^(npx )?handover demo(?!.*--rotations)/, /dashboard: http/],
  ...LISTENING,
];

/** Skipped commands, each with its reason. Keep this list short: these commands are untested. */
export const NOT_RUN: readonly (readonly [document: string, command: string, reason: string])[] = [];

/**
 * Documents whose commands other tests run, because some sections are alternatives and pods must run the image. `buildah build`
 * runs with our own base image, and by hand (docs/decisions/0390).
 */
export const RUN_ELSEWHERE: Readonly<Record<string, readonly string[]>> = {
  'docs/install.md': [
    'packages/operator/test/cluster/chart.test.ts',
    'packages/operator/test/cluster/dockerfile.test.ts',
    'packages/operator/test/rotation/upgrade.test.ts',
  ],
  // As root of a machine with a systemd of its own.
  'docs/one-machine.md': [
    'packages/cli/test/examples/systemd/systemd.test.ts',
    'packages/cli/test/examples/systemd/walk.test.ts',
  ],
};
