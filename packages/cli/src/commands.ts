import type { Define } from './context.ts';

export interface CommandEntry {
  /** One line for `handover --help`. */
  readonly summary: string;
  /** Its file is read only when the command is called: `handover --version` should not pay for a simulator. */
  readonly load: () => Promise<{ readonly define: Define }>;
}

/** Every command there is. A new one is a file in commands/ and a line here. */
export const COMMANDS: Readonly<Record<string, CommandEntry>> = {
  demo: {
    summary: 'rotation after rotation under live mTLS traffic, on this machine',
    load: () => import('./commands/demo.ts'),
  },
  init: {
    summary: 'a commented starting point for a directory of your own',
    load: () => import('./commands/init.ts'),
  },
  run: {
    summary: 'keep the certificates of a directory, for ever or for one pass',
    load: () => import('./commands/run.ts'),
  },
  operator: {
    summary: 'keep the certificates of a Kubernetes cluster',
    load: () => import('./commands/operator.ts'),
  },
  status: {
    summary: 'phase, generations, who is waited for, leaves and consumers',
    load: () => import('./commands/status.ts'),
  },
  rotate: {
    summary: 'ask for a new CA; the same id never rotates twice',
    load: () => import('./commands/rotate.ts'),
  },
  plan: {
    summary: 'what would be done now, each with its reason; does nothing',
    load: () => import('./commands/plan.ts'),
  },
  certgen: {
    summary: 'certificates in one run, for a Job or a script; replaces Envoy Gateway’s certgen',
    load: () => import('./commands/certgen.ts'),
  },
  verify: {
    summary: 'every presenter before every verifier, now and after the next step',
    load: () => import('./commands/verify.ts'),
  },
  distrust: {
    summary: 'drop a generation everywhere at once; first says who would fail',
    load: () => import('./commands/distrust.ts'),
  },
  clock: {
    summary: 'accept a clock that leapt ahead, or one that is behind what is written',
    load: () => import('./commands/clock.ts'),
  },
  inspect: {
    summary: 'what is in PEM files: chain, dates, names, key ids, fingerprints, and what looks wrong',
    load: () => import('./commands/inspect.ts'),
  },
  tls: {
    summary: 'what a server really negotiates, against a TLS profile: `handover tls check`',
    load: () => import('./commands/tls.ts'),
  },
  simulate: {
    summary: 'rotate a fleet in virtual time and count the handshakes that fail',
    load: () => import('./commands/simulate.ts'),
  },
  install: {
    summary: 'what to apply to a Kubernetes cluster: CRDs, roles, admission policies, Deployment',
    load: () => import('./commands/install.ts'),
  },
  uninstall: {
    summary: 'what to delete of it: all but the CAs’ keys, the custom resources and what was issued',
    load: () => import('./commands/uninstall.ts'),
  },
  completion: {
    summary: 'a script that makes bash, zsh or fish complete all this',
    load: () => import('./commands/completion.ts'),
  },
};
