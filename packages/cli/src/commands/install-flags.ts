import { COMPAT, type Compat } from '@handover/core';
import {
  DEFAULT_NAMESPACE,
  type InstallOptions,
  METRICS_AUTH,
  type MetricsAuth,
  REPLICAS,
} from '@handover/install';
import { type Command, Option } from 'commander';
import { CliError } from '../error.ts';
import { version } from '../version.ts';

/** The flags of `install` and `uninstall`: both take the same. */
export interface InstallFlags {
  readonly namespace: string;
  readonly image?: string;
  readonly replicas?: number;
  readonly namespaced?: readonly string[];
  readonly compat?: readonly Compat[];
  readonly signers?: readonly string[];
  readonly openshift?: true;
  readonly metricsAuth?: MetricsAuth;
  readonly json?: true;
}

const listed = (text: string): readonly string[] =>
  text
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== '');

const compatIn = (text: string): readonly Compat[] =>
  listed(text).map((word) => {
    const known = COMPAT.find((name) => name === word);
    if (known !== undefined) return known;
    throw new CliError(
      'INSTALL_OPTION',
      `unknown value ${JSON.stringify(word.slice(0, 80))} for --compat; known: ${COMPAT.join(', ')}`,
    );
  });

export const installFlags = (command: Command): Command =>
  command
    .option('--namespace <ns>', 'namespace of the operator and of its state', DEFAULT_NAMESPACE)
    .option('--image <image>', 'image of the operator (default: handover:VERSION)')
    .option('--replicas <n>', `number of replicas, one of which leads (default: ${REPLICAS.default})`, Number)
    .option('--namespaced <ns,…>', 'manage only these namespaces, without cluster-wide rights', listed)
    .option('--compat <names>', `honour annotations of other programs: ${COMPAT.join(', ')}`, compatIn)
    .option('--signers <names>', 'signers whose ClusterTrustBundles the operator may write', listed)
    .option('--openshift', 'let TLSProfiles follow OpenShift’s APIServer/cluster')
    .addOption(
      new Option(
        '--metrics-auth <how>',
        'who may read metrics: none, everyone; token, accounts with the RBAC right, over TLS (default: none)',
      ).choices([...METRICS_AUTH]),
    )
    .option('--json', 'print one JSON document: a List');

export const optionsIn = ({ image, json: _, ...flags }: InstallFlags): InstallOptions => ({
  ...flags,
  image: image ?? `handover:${version()}`,
});
