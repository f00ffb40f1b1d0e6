import type { Define } from './context.ts';

export interface CommandEntry {
  /** One line for `handover --help`. */
  readonly summary: string;
  /** Loads its file only when the command is called: `handover --version` should not pay for a simulator. */
  readonly load: () => Promise<{ readonly define: Define }>;
}

/** Every command. A new one is a file in commands/ and a line here. */
export const COMMANDS: Readonly<Record<string, CommandEntry>> = {
  demo: {
    summary: 'rotate a CA again and again under live mTLS traffic, on this machine',
    load: () => import('./commands/demo.ts'),
  },
  init: {
    summary: 'write a commented starting point for a directory',
    load: () => import('./commands/init.ts'),
  },
  run: {
    summary: 'issue and rotate the certificates of a directory, continuously or once',
    load: () => import('./commands/run.ts'),
  },
  operator: {
    summary: 'issue and rotate the certificates of a Kubernetes cluster',
    load: () => import('./commands/operator.ts'),
  },
  status: {
    summary: 'show phases, CA generations, what a rotation waits for, leaves and consumers',
    load: () => import('./commands/status.ts'),
  },
  rotate: {
    summary: 'request a rotation to a new CA; the same id never rotates twice',
    load: () => import('./commands/rotate.ts'),
  },
  reload: {
    summary: 'run the hook of a Leaf or a bundle again, and print its result',
    load: () => import('./commands/reload.ts'),
  },
  plan: {
    summary: 'show what would be done now, and why, without doing it',
    load: () => import('./commands/plan.ts'),
  },
  certgen: {
    summary: 'issue certificates in one run, for a Job or a script; replaces Envoy Gateway’s certgen',
    load: () => import('./commands/certgen.ts'),
  },
  verify: {
    summary: 'check every leaf against every bundle, now and after the next step',
    load: () => import('./commands/verify.ts'),
  },
  check: {
    summary: 'one line and an exit code for monitoring, as Nagios and Icinga expect them',
    load: () => import('./commands/check.ts'),
  },
  distrust: {
    summary: 'remove a CA generation from every bundle at once; lists the connections that would fail',
    load: () => import('./commands/distrust.ts'),
  },
  adopt: {
    summary: 'import an existing CA, with or without its key; says first what would change',
    load: () => import('./commands/adopt.ts'),
  },
  ack: {
    summary: 'say that you have restarted a program that cannot be asked what it has loaded',
    load: () => import('./commands/ack.ts'),
  },
  clock: {
    summary: 'accept a clock that jumped ahead, or one that is behind the recorded dates',
    load: () => import('./commands/clock.ts'),
  },
  inspect: {
    summary: 'show what PEM files hold: chain, dates, names, key ids, fingerprints, and warnings',
    load: () => import('./commands/inspect.ts'),
  },
  'status-document': {
    summary: 'say what a program’s status document is evidence for: `handover status-document check`',
    load: () => import('./commands/status-document.ts'),
  },
  served: {
    summary: 'say whether a port shows the certificate of a file: a deploy hook for any ACME client',
    load: () => import('./commands/served.ts'),
  },
  tls: {
    summary: 'compare what a server negotiates with a TLS profile: `handover tls check`',
    load: () => import('./commands/tls.ts'),
  },
  simulate: {
    summary: 'rotate a simulated fleet in virtual time, and count the handshakes that fail',
    load: () => import('./commands/simulate.ts'),
  },
  install: {
    summary: 'print what to apply to a cluster: CRDs, roles, admission policies, Deployment',
    load: () => import('./commands/install.ts'),
  },
  uninstall: {
    summary: 'print what to delete: all but CA keys, custom resources and issued certificates',
    load: () => import('./commands/uninstall.ts'),
  },
  completion: {
    summary: 'print a completion script for bash, zsh or fish',
    load: () => import('./commands/completion.ts'),
  },
};
