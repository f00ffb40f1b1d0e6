/** Commands that go on until they are stopped, and what they say when they are ready. */
export const LONG_RUNNING: readonly (readonly [command: RegExp, ready: RegExp])[] = [
  [/^(npx )?handover operator\b/, /"event":"leads"/],
  [/^(npx )?handover run (?!.*--once)/, /Stable/],
  [/^(npx )?handover demo(?!.*--rotations)/, /dashboard: http/],
  [/^node server\.mjs/, /listening/],
  [/^nginx .*daemon off/, /^/],
  [/^runuser .* postgres -D /, /ready to accept connections/],
];

/** Commands that are not run, each with its reason. Kept short: what is here, nobody has tried. */
export const NOT_RUN: readonly (readonly [document: string, command: string, reason: string])[] = [];

/**
 * Documents whose commands are run by other tests, since one section stands in place of another and pods have to run the image. That
 * `buildah build` is run with a base image of our own, and by hand (docs/decisions/0390).
 */
export const RUN_ELSEWHERE: Readonly<Record<string, readonly string[]>> = {
  'docs/install.md': [
    'packages/operator/test/cluster/chart.test.ts',
    'packages/operator/test/cluster/dockerfile.test.ts',
    'packages/operator/test/rotation/upgrade.test.ts',
  ],
};
