import { randomBytes } from 'node:crypto';
import { hostname } from 'node:os';
import { Board, type Dashboard, serveDashboard } from '@handover/dashboard';
import type { BoundedServer } from '@handover/engine';
import type { Kube, ReloadReport, RequestReport } from '@handover/kube';
import { type Clock, HandoverError } from '@handover/material';
import { Operator, resourcesOfFile, serveHealth } from '@handover/operator';
import type { Logger } from 'pino';
import type { Define } from '../context.ts';
import { CliError } from '../error.ts';
import { EventLog } from '../event-log.ts';
import { followLeader, noteOf, restOf } from '../kubernetes/board.ts';
import { connectKube, ownNamespace } from '../kubernetes/connect.ts';
import { createLog } from '../log.ts';
import { combineMeters, logMeters, logReload, logRequest } from '../log-meters.ts';
import { Metrics } from '../metrics/metrics.ts';
import { serveProtectedMetrics } from '../metrics/protected.ts';
import { readResources } from '../named-file.ts';
import { tellBoard } from '../tell-board.ts';
import { version } from '../version.ts';
import { checkFlags, DASHBOARD, type OperatorFlags, operatorFlags, PROTECTED } from './operator-flags.ts';

/** Requests to the API server. Repairs of fields use another client without a limit: they never wait behind other work. */
const RATE = { perSecond: 45, burst: 100 };

/** Reviews of tokens have their own client: any caller can cause them. */
const REVIEW_RATE = { perSecond: 5, burst: 20 };

/** The limit for a request that hangs (S0.5), and for each page of a list. */
const REQUEST_MS = 10_000;

export const define: Define = (command, context) => {
  operatorFlags(command).action(async (flags: OperatorFlags) => {
    checkFlags(flags);
    context.goOnUnheard();
    const signal = context.untilStopped();
    const namespace = ownNamespace(flags.namespace);
    const declarations = flags.file === undefined ? undefined : readFile(flags.file);
    const [host, port] = flags.healthAddress;
    const log = createLog({
      level: flags.logLevel,
      write: (line) => context.stdout.write(line),
      now: () => context.clock.now(),
    });
    const said = new EventLog(log, () => context.clock.now());
    const metrics = new Metrics({ version: version(), now: () => context.clock.now() });
    const [traceRequest, sayReload] = [logRequest(log), logReload(log)];
    const reports = {
      clock: context.clock,
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
    const { kube: caBundleClient } = await connectKube(flags, end.signal, { ...reports, rate: false });
    const board: Board = new Board({
      title: namespace,
      now: () => context.clock.now(),
      rest: () => restOf(operator, board),
      repairsTold: true,
      note: () => noteOf(operator),
    });
    const operator: Operator = new Operator({
      kube,
      caBundleClient,
      namespace,
      identity: `${process.env.POD_NAME ?? hostname()}-${randomBytes(4).toString('hex')}`,
      scope: {
        trustNamespace: flags.trustNamespace,
        defaultCas: flags.defaultCas,
        namespaces: flags.namespaced?.split(',').filter((name) => name !== ''),
        declarations,
      },
      injection: {
        compat: flags.compat,
        serviceCaAuthority: flags.serviceCaAuthority ?? `${namespace}/service-ca`,
        cainjectorNamespace: flags.cainjectorNamespace,
        takeOver: flags.takeOver,
      },
      bundles: {
        ...(flags.trustNamespace === undefined ? {} : { trustNamespace: flags.trustNamespace }),
        secretTargets: flags.secretTargets === true,
      },
      pods: { nudge: flags.nudge, addresses: flags.probeNetworks },
      meters: combineMeters(metrics.meters, logMeters(log)),
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
          clock: context.clock,
          signal: end.signal,
        });
      }
      dashboard = await openDashboard(board, context.clock, flags.dashboardAddress, log);
      void followLeader(operator, board, context.clock, AbortSignal.any([signal, end.signal]));
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
  { metricsAddress: [host, port] = PROTECTED, metricsCert, metricsTlsProfile }: OperatorFlags,
  parts: {
    readonly metrics: Metrics;
    readonly kube: Kube;
    readonly log: Logger;
    readonly clock: Clock;
    readonly signal: AbortSignal;
  },
): Promise<BoundedServer> => {
  const server = await serveProtectedMetrics({
    host,
    port,
    folder: metricsCert,
    profile: metricsTlsProfile,
    ...parts,
  });
  parts.log.info({ event: 'metrics', url: `${server.url}/metrics` });
  return server;
};

/** Another operator on the same machine may have the default port: then there is no dashboard. A port from the flag has to be free. */
const openDashboard = async (
  board: Board,
  clock: Clock,
  address: readonly [string, number],
  log: Logger,
): Promise<Dashboard | undefined> => {
  const [host, port] = address;
  try {
    const dashboard = await serveDashboard({ board, clock, host, port });
    log.info({ event: 'dashboard', url: dashboard.url });
    return dashboard;
  } catch (error) {
    if (address !== DASHBOARD || !(error instanceof HandoverError)) throw error;
    log.warn({ event: 'no dashboard', why: error.message });
    return undefined;
  }
};

const readFile = (path: string): ReturnType<typeof resourcesOfFile> => {
  const resources = resourcesOfFile(readResources(path), path);
  if (resources.all().length > 0) return resources;
  throw new CliError('FILE_EMPTY', `${path} holds no resource; add an Authority and its Leaves`, {
    path,
  });
};
