export type Name = 'handover' | 'handover-authority' | 'cainjector';

/** A program to measure: its annotations, and how to start it. */
export interface Contender {
  readonly title: string;
  readonly annotations: Readonly<Record<string, string>>;
  readonly command: (kubeconfig: string) => readonly [string, ...string[]];
  /** Whether CAs come from a Secret that the benchmark writes, or from an Authority. */
  readonly source: 'secret' | 'authority';
}

const FROM_SECRET = { 'cert-manager.io/inject-ca-from-secret': 'default/bench-ca' };

export const contenders = (
  cli: readonly string[],
  cainjector: string,
  version: string,
): Readonly<Record<Name, Contender>> => ({
  handover: {
    title: 'Handover, same annotations',
    annotations: FROM_SECRET,
    command: (kubeconfig) => [
      process.execPath,
      ...cli,
      'operator',
      '--kubeconfig',
      kubeconfig,
      '--namespace',
      'handover-system',
      '--compat',
      'cainjector',
      '--health-address',
      '127.0.0.1:0',
    ],
    source: 'secret',
  },
  'handover-authority': {
    title: 'Handover, own Authority',
    annotations: { 'handover.dev/inject-ca-from': 'default/bench' },
    command: (kubeconfig) => [
      process.execPath,
      ...cli,
      'operator',
      '--kubeconfig',
      kubeconfig,
      '--namespace',
      'handover-system',
      '--health-address',
      '127.0.0.1:0',
    ],
    source: 'authority',
  },
  cainjector: {
    title: `cainjector ${version}`,
    annotations: FROM_SECRET,
    command: (kubeconfig) => [cainjector, '--kubeconfig', kubeconfig],
    source: 'secret',
  },
});
