import { COMPAT, type Compat } from '@handover/core';
import {
  DEFAULT_NAMESPACE,
  type InstallOptions,
  METRICS_AUTH,
  type MetricsAuth,
  REPLICAS,
} from '@handover/install';
import { type Command, Option } from 'commander';
import { usageError } from '../error-line.ts';
import { version } from '../version.ts';
import { compatIn, listed } from './compat-flag.ts';

/** The flags of `install` and `uninstall`: both take the same. */
export interface InstallFlags {
  readonly namespace: string;
  readonly image?: string;
  readonly replicas?: number;
  readonly namespaced?: readonly string[];
  readonly compat?: readonly Compat[];
  readonly trustNamespace?: string;
  readonly cainjectorNamespace?: string;
  readonly defaultCas?: string;
  readonly secretTargets?: true;
  readonly signers?: readonly string[];
  readonly openshift?: true;
  readonly podCertificates?: true;
  readonly metricsAuth?: MetricsAuth;
  readonly json?: true;
}

const replicasIn = (text: string): number => {
  if (/^\d+$/.test(text)) return Number(text);
  throw usageError(
    `--replicas: "${text.slice(0, 80)}" is not a number of replicas; use ${REPLICAS.least} to ${REPLICAS.most}`,
  );
};

export const installFlags = (command: Command): Command =>
  command
    .option('--namespace <ns>', 'namespace of the operator and of its state', DEFAULT_NAMESPACE)
    .option('--image <image>', 'image of the operator (default: handover:VERSION)')
    .option(
      '--replicas <n>',
      `number of replicas, one of which leads (default: ${REPLICAS.default})`,
      replicasIn,
    )
    .option('--namespaced <ns,…>', 'manage only these namespaces, without cluster-wide rights', listed)
    .option(
      '--compat <names>',
      `honour annotations or resources of other programs: ${COMPAT.join(', ')}`,
      compatIn,
    )
    .option(
      '--trust-namespace <ns>',
      'namespace of the Secrets and ConfigMaps that TrustBundles and Bundles read (default: its own; for Bundles cert-manager)',
    )
    .option(
      '--cainjector-namespace <ns>',
      'namespace of a cainjector that still runs; with --compat cainjector (default: cert-manager)',
    )
    .option(
      '--default-cas <configmap>',
      'ConfigMap in its namespace with the CAs of defaultCas (TrustBundles) and useDefaultCAs (Bundles), under the key ca.crt',
    )
    .option('--secret-targets', 'let Bundles write Secrets; with --compat trust-manager')
    .option('--signers <names>', 'signers whose ClusterTrustBundles the operator may write', listed)
    .option('--pod-certificates', 'let Authorities with spec.podCertificates sign PodCertificateRequests')
    .option('--openshift', 'let TLSProfiles follow OpenShift’s APIServer/cluster')
    .addOption(
      new Option(
        '--metrics-auth <how>',
        'access to metrics. none: anyone; token: only accounts with the RBAC right, over TLS (default: none)',
      ).choices([...METRICS_AUTH]),
    )
    .option('--json', 'print one JSON document: a List');

export const optionsIn = ({ image, json: _, ...flags }: InstallFlags): InstallOptions => ({
  ...flags,
  image: image ?? `handover:${version()}`,
});
