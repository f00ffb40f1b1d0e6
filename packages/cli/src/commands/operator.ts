import { randomBytes } from 'node:crypto';
import { hostname } from 'node:os';
import { COMPAT, type Compat } from '@handover/core';
import { Board, type Dashboard, serveDashboard } from '@handover/dashboard';
import type { BoundedServer } from '@handover/engine';
import { METRICS_AUTH, type MetricsAuth } from '@handover/install';
import type { Kube, ReloadReport, RequestReport } from '@handover/kube';
import { HandoverError } from '@handover/material';
import { Addresses, Operator, resourcesOfFile, serveHealth } from '@handover/operator';
import { Option } from 'commander';
import type { Logger } from 'pino';
import { listenAddress } from '../address.ts';
import type { Define } from '../context.ts';
import { CliError } from '../error.ts';
import { usageError } from '../error-line.ts';
import { EventLog } from '../event-log.ts';
import { followLeader, noteOf, restOf } from '../kubernetes/board.ts';
import { connectKube, ownNamespace } from '../kubernetes/connect.ts';
import { type KubeFlags, kubeOptions } from '../kubernetes/flags.ts';
import { createLog, type Level, levelIn } from '../log.ts';
import { logMeters, logReload, logRequest, together } from '../log-meters.ts';
import { Metrics } from '../metrics/metrics.ts';
import { serveProtectedMetrics } from '../metrics/protected.ts';
import { readResources } from '../named-file.ts';
import { tellBoard } from '../tell-board.ts';
import { version } from '../version.ts';

/** What one operator may ask of an API server; its fields are apart, so that a repair never waits behind other work. */
const RATE = { perSecond: 45, burst: 100 };

interface Flags extends KubeFlags {
  readonly file?: string;
  readonly namespace?: string;
  readonly namespaced?: string;
  readonly trustNamespace?: string;
  readonly compat?: readonly Compat[];
  readonly serviceCaAuthority?: string;
  readonly takeOver?: true;
  readonly probeNetworks?: Addresses;
  /** False with --no-nudge. */
  readonly nudge: boolean;
  readonly healthAddress: readonly [string, number];
  readonly metricsAuth: MetricsAuth;
  readonly metricsAddress?: readonly [string, number];
  readonly metricsCert?: string;
  readonly dashboardAddress: readonly [string, number];
  readonly logLevel: Level;
}

/** In a cluster it is reached by `kubectl port-forward`, which comes from the pod's own loopback. */
const DASHBOARD: readonly [string, number] = ['127.0.0.1', 8082];

/** Reviews of tokens have a client of their own: any caller can cause them. */
const REVIEW_RATE = { perSecond: 5, burst: 20 };
const PROTECTED: readonly [string, number] = ['127.0.0.1', 8443];

/** A request that hangs is given up after this (S0.5); a list comes in pages, each within it. */
const REQUEST_MS = 10_000;

export const define: Define = (command, context) => {
  kubeOptions(command)
    .option('-f, --file <file>', 'resources from this file; then no custom resources are needed')
    .option(
      '--namespace <ns>',
      'its own namespace, for state and Lease (default: that of the pod, else handover-system)',
    )
    .option('--namespaced <ns,…>', 'look at these namespaces only; needs no cluster rights')
    .option(
      '--trust-namespace <ns>',
      'namespace that TrustBundles take Secrets and ConfigMaps from (default: its own)',
    )
    .option('--compat <names>', `honour the annotations of ${COMPAT.join(', ')} as well`, compatIn)
    .option(
      '--service-ca-authority <ns/name>',
      'Authority that stands in for service-ca’s (default: service-ca in its own namespace)',
      authorityIn,
    )
    .option(
      '--take-over',
      'take over caBundle fields and workloads that another controller keeps (default: left alone)',
    )
    .option(
      '--probe-networks <cidr,…>',
      'networks outside the cluster whose servers Authorities may have asked (default: none)',
      networksIn,
    )
    .option(
      '--no-nudge',
      'leave pods to their kubelet’s own time: changed files take a minute or more to arrive',
    )
    .addOption(
      new Option('--health-address <host:port>', 'where /livez, /readyz and /metrics are served')
        .argParser(listenAddress('--health-address', '0.0.0.0'))
        .default(['127.0.0.1', 8081], '127.0.0.1:8081'),
    )
    .addOption(
      new Option(
        '--metrics-auth <how>',
        'who may read /metrics: none lets everyone, on the health address; token asks the API server, by TLS',
      )
        .choices([...METRICS_AUTH])
        .default('none'),
    )
    .option(
      '--metrics-address <host:port>',
      `where /metrics is served with --metrics-auth token (default: ${PROTECTED.join(':')})`,
      listenAddress('--metrics-address', '0.0.0.0'),
    )
    .option(
      '--metrics-cert <dir>',
      'its certificate: tls.crt and tls.key in this directory, followed (default: a certificate of its own making)',
    )
    .addOption(
      new Option('--dashboard-address <host:port>', 'where a page that shows all this is served')
        .argParser(listenAddress('--dashboard-address', '127.0.0.1'))
        .default(DASHBOARD, DASHBOARD.join(':')),
    )
    .option('--log-level <level>', 'trace, debug, info, warn or error', levelIn, 'info')
    .option('--json', 'its log is one JSON document per line in any case')
    .addHelpText(
      'after',
      `
Keeps the Authorities, Leaves, TrustBundles and TLSProfiles of a cluster: run two or more, one of them leads. It stays alive
when the API server does not answer, and writes nothing after SIGTERM. Its log is one JSON document per line.

An object whose caBundle cainjector or service-ca keeps already is left alone, and an Event on it says so, until it carries
handover.dev/take-over: "true" or --take-over is given.

What consumers have loaded is asked of pods alone. A status.url or probe.address of an Authority names a Service, or the address
of a pod, of the Authority's own namespace; each pod behind it is asked. A server outside the cluster is named by its address, and
only in a network of --probe-networks: leave nodes and API servers out of these, every tenant can have any address in them asked.

Examples:
  $ handover operator --health-address 0.0.0.0:8081
  $ handover operator --compat cainjector,service-ca --service-ca-authority handover-system/service-ca
  $ handover operator --metrics-auth token --metrics-address 0.0.0.0:8443
  $ handover operator -f webhook.yaml --namespace my-webhook`,
    )
    .action(async (flags: Flags) => {
      checkCompat(flags);
      checkMetrics(flags);
      context.goOnUnheard();
      const signal = context.untilStopped();
      const namespace = ownNamespace(flags.namespace);
      const declarations = flags.file === undefined ? undefined : readFile(flags.file);
      const [host, port] = flags.healthAddress;
      const log = createLog({
        level: flags.logLevel,
        write: (line) => context.stdout.write(line),
        now: context.now,
      });
      const said = new EventLog(log);
      const metrics = new Metrics({ version: version(), now: context.now });
      const [traceRequest, sayReload] = [logRequest(log), logReload(log)];
      const reports = {
        timeout: REQUEST_MS,
        onRequest: (report: RequestReport): void => {
          metrics.onRequest(report);
          traceRequest(report);
        },
        onReload: (report: ReloadReport): void => {
          metrics.onReload(report);
          sayReload(report);
        },
      };
      const end = new AbortController();
      const { kube } = await connectKube(flags, end.signal, { ...reports, rate: RATE });
      const { kube: swift } = await connectKube(flags, end.signal, { ...reports, rate: false });
      const board: Board = new Board({
        title: namespace,
        now: context.now,
        rest: () => restOf(operator, board),
        repairsTold: true,
        note: () => noteOf(operator),
      });
      const operator: Operator = new Operator({
        kube,
        swift,
        namespace,
        identity: `${process.env.POD_NAME ?? hostname()}-${randomBytes(4).toString('hex')}`,
        trustNamespace: flags.trustNamespace,
        declarations,
        compat: flags.compat,
        serviceCaAuthority: flags.serviceCaAuthority ?? `${namespace}/service-ca`,
        takeOver: flags.takeOver,
        nudge: flags.nudge,
        addresses: flags.probeNetworks,
        namespaces: flags.namespaced?.split(',').filter((name) => name !== ''),
        meters: together(metrics.meters, logMeters(log)),
        on: (event) => {
          metrics.on(event);
          said.on(event);
          tellBoard(board, event);
        },
      });
      const health = await serveHealth({
        host,
        port,
        waitingFor: () => operator.waitingFor(),
        metrics: flags.metricsAuth === 'none' ? () => metrics.page() : undefined,
      });
      log.info({ event: 'serving', url: health.url });
      let guarded: BoundedServer | undefined;
      let dashboard: Dashboard | undefined;
      try {
        if (flags.metricsAuth === 'token') {
          const { kube: reviewer } = await connectKube(flags, end.signal, { ...reports, rate: REVIEW_RATE });
          guarded = await openMetrics(flags, {
            metrics,
            kube: reviewer,
            log,
            now: context.now,
            signal: end.signal,
          });
        }
        dashboard = await openDashboard(board, flags.dashboardAddress, log);
        void followLeader(operator, board, AbortSignal.any([signal, end.signal]));
        await operator.run(signal);
      } finally {
        await dashboard?.close();
        await guarded?.close();
        await health.close();
        end.abort();
      }
    });
};

const openMetrics = async (
  { metricsAddress: [host, port] = PROTECTED, metricsCert }: Flags,
  parts: {
    readonly metrics: Metrics;
    readonly kube: Kube;
    readonly log: Logger;
    readonly now: () => number;
    readonly signal: AbortSignal;
  },
): Promise<BoundedServer> => {
  const server = await serveProtectedMetrics({ host, port, folder: metricsCert, ...parts });
  parts.log.info({ event: 'metrics', url: `${server.url}/metrics` });
  return server;
};

/** Its usual port may be taken by another operator on the same machine: that is no reason not to work. One that was asked for is. */
const openDashboard = async (
  board: Board,
  address: readonly [string, number],
  log: Logger,
): Promise<Dashboard | undefined> => {
  const [host, port] = address;
  try {
    const dashboard = await serveDashboard({ board, host, port });
    log.info({ event: 'dashboard', url: dashboard.url });
    return dashboard;
  } catch (error) {
    if (address !== DASHBOARD || !(error instanceof HandoverError)) throw error;
    log.warn({ event: 'no dashboard', why: error.message });
    return undefined;
  }
};

const compatIn = (text: string): readonly Compat[] =>
  text
    .split(',')
    .map((word) => word.trim())
    .filter((word) => word !== '')
    .map((word) => {
      const known = COMPAT.find((name) => name === word);
      if (known !== undefined) return known;
      throw usageError(
        `--compat ${word.slice(0, 80)} is nothing to be compatible with; use ${COMPAT.join(', ')}`,
      );
    });

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
  throw usageError(`--service-ca-authority ${text.slice(0, 80)} is no Authority; write namespace/name`);
};

const checkCompat = ({ compat = [], serviceCaAuthority, namespaced, file }: Flags): void => {
  if (serviceCaAuthority !== undefined && !compat.includes('service-ca'))
    throw usageError('--service-ca-authority is of no use alone; add --compat service-ca');
  const annotated = compat.some((name) => name !== 'reloader');
  if (annotated && (namespaced !== undefined || file !== undefined))
    throw usageError(
      `--compat ${compat.join(',')} looks at the whole cluster; leave out ${file === undefined ? '--namespaced' : '-f'}`,
    );
};

const checkMetrics = ({ metricsAuth, metricsAddress, metricsCert }: Flags): void => {
  if (metricsAuth === 'token') return;
  const unused = metricsAddress !== undefined ? '--metrics-address' : metricsCert && '--metrics-cert';
  if (unused)
    throw usageError(`${unused} has no effect without --metrics-auth token; add that, or leave it out`);
};

const readFile = (path: string): ReturnType<typeof resourcesOfFile> => {
  const resources = resourcesOfFile(readResources(path), path);
  if (resources.all().length > 0) return resources;
  throw new CliError('FILE_EMPTY', `${path} holds no resource; declare an Authority and what it is for`, {
    path,
  });
};
