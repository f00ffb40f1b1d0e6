import { COMPAT, type Compat, TAKE_OVER } from '@handover/core';
import { METRICS_AUTH, type MetricsAuth } from '@handover/install';
import { HandoverError } from '@handover/material';
import { Addresses } from '@handover/operator';
import { type Command, Option } from 'commander';
import { listenAddress } from '../address.ts';
import { usageError } from '../error-line.ts';
import { type KubeFlags, kubeOptions } from '../kubernetes/connect.ts';
import { type Level, levelIn } from '../log.ts';
import { compatIn } from './compat-flag.ts';

export interface OperatorFlags extends KubeFlags {
  readonly file?: string;
  readonly namespace?: string;
  readonly namespaced?: string;
  readonly trustNamespace?: string;
  readonly compat?: readonly Compat[];
  readonly serviceCaAuthority?: string;
  readonly cainjectorNamespace?: string;
  readonly defaultCas?: string;
  readonly secretTargets?: true;
  readonly takeOver?: true;
  readonly probeNetworks?: Addresses;
  /** False with --no-nudge. */
  readonly nudge: boolean;
  readonly healthAddress: readonly [string, number];
  readonly metricsAuth: MetricsAuth;
  readonly metricsAddress?: readonly [string, number];
  readonly metricsCert?: string;
  readonly metricsTlsProfile?: string;
  readonly dashboardAddress: readonly [string, number];
  readonly logLevel: Level;
}

/** In a cluster it is reached by `kubectl port-forward`, which connects from the pod's own loopback. */
export const DASHBOARD: readonly [string, number] = ['127.0.0.1', 8082];
export const PROTECTED: readonly [string, number] = ['127.0.0.1', 8443];

export const operatorFlags = (command: Command): Command =>
  kubeOptions(command)
    .option('-f, --file <file>', 'take resources from this file; then no custom resources are needed')
    .option(
      '--namespace <ns>',
      'namespace of its state and Lease (default: that of its pod, else handover-system)',
    )
    .option('--namespaced <ns,…>', 'manage only these namespaces, without cluster-wide rights')
    .option(
      '--trust-namespace <ns>',
      'namespace of the Secrets and ConfigMaps that TrustBundles and Bundles read (default: its own; for Bundles cert-manager)',
    )
    .option(
      '--compat <names>',
      `honour annotations or resources of other programs: ${COMPAT.join(', ')}`,
      compatIn,
    )
    .option(
      '--service-ca-authority <ns/name>',
      'Authority that replaces service-ca’s (default: service-ca in its own namespace)',
      authorityIn,
    )
    .option(
      '--cainjector-namespace <ns>',
      'namespace of a cainjector that still runs: its objects are left alone, what runs elsewhere does not count (default: cert-manager)',
    )
    .option(
      '--default-cas <file>',
      'CAs that defaultCas of a TrustBundle, and useDefaultCAs of a Bundle, stand for: PEM, or a package of trust-manager; read again when it changes',
    )
    .option('--secret-targets', 'let Bundles write Secrets (default: only ConfigMaps)')
    .option(
      '--take-over',
      'take over caBundle fields, workloads and Bundles of other controllers (default: leave them alone)',
    )
    .option(
      '--probe-networks <cidr,…>',
      'networks outside the cluster in which Authorities may name servers to probe (default: none)',
      networksIn,
    )
    .option('--no-nudge', 'do not nudge pods: changed files take a minute or more to arrive')
    .addOption(
      new Option('--health-address <host:port>', 'serve /livez, /readyz and /metrics on this address')
        .argParser(listenAddress('--health-address', '0.0.0.0'))
        .default(['127.0.0.1', 8081], '127.0.0.1:8081'),
    )
    .addOption(
      new Option(
        '--metrics-auth <how>',
        'access to /metrics. none: anyone, on the health address; token: only accounts with the RBAC right, over TLS',
      )
        .choices([...METRICS_AUTH])
        .default('none'),
    )
    .option(
      '--metrics-address <host:port>',
      `serve /metrics on this address with --metrics-auth token (default: ${PROTECTED.join(':')})`,
      listenAddress('--metrics-address', '0.0.0.0'),
    )
    .option(
      '--metrics-cert <dir>',
      'directory with tls.crt and tls.key for it, reloaded when they change (default: a self-made certificate)',
    )
    .option(
      '--metrics-tls-profile <file>',
      'TLS profile (profile.json) for it, followed when it changes; may come later (default: TLS 1.2 and later)',
    )
    .addOption(
      new Option('--dashboard-address <host:port>', 'serve the dashboard on this address')
        .argParser(listenAddress('--dashboard-address', '127.0.0.1'))
        .default(DASHBOARD, DASHBOARD.join(':')),
    )
    .option('--log-level <level>', 'trace, debug, info, warn or error', levelIn, 'info')
    .option('--json', 'no effect: the log is always one JSON document per line')
    .addHelpText(
      'after',
      `
Manages the Authorities, Leaves, TrustBundles and TLSProfiles of a cluster. Run two or more replicas: one leads. It keeps running
while the API server does not answer, and writes nothing after SIGTERM. Its log is one JSON document per line.

An object whose caBundle cainjector or service-ca already manages is left alone, with an Event on it, until the object carries
${TAKE_OVER}: "true" or the operator has --take-over.

The operator asks only pods what they have loaded. A status.url or probe.address of an Authority names a Service or a pod of the
Authority's own namespace; the operator asks each pod behind it. A server outside the cluster is named by its IP address, which has
to be in --probe-networks. Leave nodes and API servers out of those networks: every tenant can make the operator connect to any
address in them.

Examples:
  $ handover operator --health-address 0.0.0.0:8081
  $ handover operator --compat cainjector,service-ca --service-ca-authority handover-system/service-ca
  $ handover operator --metrics-auth token --metrics-address 0.0.0.0:8443
  $ handover operator -f webhook.yaml --namespace my-webhook`,
    );

const networksIn = (text: string): Addresses => {
  try {
    return new Addresses(text.split(',').filter((network) => network !== ''));
  } catch (error) {
    if (!(error instanceof HandoverError)) throw error;
    throw usageError(`--probe-networks: ${error.message}`);
  }
};

const authorityIn = (text: string): string => {
  if (/^[^/\s]+\/[^/\s]+$/.test(text)) return text;
  throw usageError(
    `--service-ca-authority: "${text.slice(0, 80)}" is not an Authority; write namespace/name`,
  );
};

/** Flags that need each other, or exclude each other. */
export const checkFlags = (flags: OperatorFlags): void => {
  checkCompat(flags);
  checkMetrics(flags);
};

const checkCompat = (flags: OperatorFlags): void => {
  const { compat = [], serviceCaAuthority, cainjectorNamespace, namespaced, file, secretTargets } = flags;
  if (secretTargets && !compat.includes('trust-manager'))
    throw usageError('--secret-targets has no effect alone; add --compat trust-manager');
  if (serviceCaAuthority !== undefined && !compat.includes('service-ca'))
    throw usageError('--service-ca-authority has no effect alone; add --compat service-ca');
  if (cainjectorNamespace !== undefined && !compat.includes('cainjector'))
    throw usageError('--cainjector-namespace has no effect alone; add --compat cainjector');
  const annotated = compat.some((name) => name !== 'reloader');
  if (annotated && (namespaced !== undefined || file !== undefined))
    throw usageError(
      `--compat ${compat.join(',')} needs the whole cluster; remove ${file === undefined ? '--namespaced' : '-f'}`,
    );
};

const checkMetrics = ({ metricsAuth, ...flags }: OperatorFlags): void => {
  if (metricsAuth === 'token') return;
  const given = {
    '--metrics-address': flags.metricsAddress,
    '--metrics-cert': flags.metricsCert,
    '--metrics-tls-profile': flags.metricsTlsProfile,
  };
  const [unused] = Object.entries(given).flatMap(([flag, value]) => (value === undefined ? [] : [flag]));
  if (unused !== undefined)
    throw usageError(
      `${unused} has no effect without --metrics-auth token; add that flag, or remove ${unused}`,
    );
};
