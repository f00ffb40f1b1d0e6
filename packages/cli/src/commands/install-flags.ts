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

/** What `install` and `uninstall` take, so that one can be told just what the other was. */
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
      `${JSON.stringify(word.slice(0, 80))} is nothing to be compatible with; use ${COMPAT.join(', ')}`,
    );
  });

export const installFlags = (command: Command): Command =>
  command
    .option('--namespace <ns>', 'where the operator runs and keeps its state', DEFAULT_NAMESPACE)
    .option('--image <image>', 'image of the operator (default: handover:VERSION)')
    .option('--replicas <n>', `how many run, one of which leads (default: ${REPLICAS.default})`, Number)
    .option('--namespaced <ns,…>', 'look at these namespaces only, without any right in the cluster', listed)
    .option('--compat <names>', `honour the annotations of ${COMPAT.join(', ')}`, compatIn)
    .option('--signers <names>', 'signers whose ClusterTrustBundles it may write', listed)
    .option('--openshift', 'let TLSProfiles follow OpenShift’s APIServer/cluster')
    .addOption(
      new Option(
        '--metrics-auth <how>',
        'who may read metrics: none lets everyone, token accounts that RBAC lets do so, by TLS (default: none)',
      ).choices([...METRICS_AUTH]),
    )
    .option('--json', 'print one JSON document, a List');

export const optionsIn = ({ image, json: _, ...flags }: InstallFlags): InstallOptions => ({
  ...flags,
  image: image ?? `handover:${version()}`,
});
