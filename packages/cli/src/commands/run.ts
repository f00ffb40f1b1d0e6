import { type Plan, waitingText } from '@handover/core';
import type { Board, Dashboard } from '@handover/dashboard';
import {
  type BoundedServer,
  type ControllerEvent,
  type DirectoryHome,
  type Meters,
  passOnce,
  refuseFailedHooks,
  refuseFrozen,
  restOfStatus,
  runDirectory,
  statusOf,
} from '@handover/engine';
import { listenAddress } from '../address.ts';
import type { Context, Define } from '../context.ts';
import { homePath, openHome } from '../directory/open-home.ts';
import { Ready, readyLine } from '../directory/ready.ts';
import { Speaker } from '../directory/say-event.ts';
import { waitForLock } from '../directory/wait-for-lock.ts';
import { WaitsBelow } from '../directory/waits-below.ts';
import { CliError } from '../error.ts';
import { usageError } from '../error-line.ts';
import { EventLog } from '../event-log.ts';
import { createLog, type Level, levelIn, withoutKeys } from '../log.ts';
import { combineMeters, logMeters } from '../log-meters.ts';
import type { Metrics } from '../metrics/metrics.ts';
import { homeArgument } from '../open-home.ts';
import { printable } from '../printable.ts';
import { tellBoard } from '../tell-board.ts';
import { version } from '../version.ts';

const EVERY_MS = 1_000;
/** A hook or a disk that does not answer holds up the end no longer; it may be killed at any moment. */
const GRACE_MS = 5_000;
/** How long `run --once` waits for a command that works on the directory. */
const ONCE_WAITS_MS = 30_000;

interface Flags {
  readonly once?: true;
  readonly json?: true;
  readonly metricsAddress?: readonly [string, number];
  readonly logLevel: Level;
  readonly dashboardAddress?: readonly [string, number];
}

const openDashboard = async (
  home: DirectoryHome,
  [host, port]: readonly [string, number],
  context: Context,
): Promise<{ readonly board: Board; readonly dashboard: Dashboard }> => {
  const { Board, serveDashboard } = await import('@handover/dashboard');
  const board = new Board({
    title: home.path,
    now: () => context.clock.now(),
    rest: async () => restOfStatus(await home.fresh()),
  });
  return { board, dashboard: await serveDashboard({ board, clock: context.clock, host, port }) };
};

const hasFailed = (event: ControllerEvent): boolean =>
  event.kind === 'hooked' && event.hook.state === 'failed';

const homeInEnvironment = (): string => {
  const { HANDOVER_HOME: home } = process.env;
  if (home === undefined || home === '')
    throw usageError('there is no directory to run; name it, such as /etc/handover, or set HANDOVER_HOME');
  return homePath(homeArgument(home), 'Set HANDOVER_HOME to a directory, or name one here');
};

export const define: Define = (command, context) => {
  command
    .argument('[dir]', 'directory with the resources in *.yaml; default: that of HANDOVER_HOME')
    .option('--once', 'do everything that can be done now, then exit')
    .option(
      '--metrics-address <host:port>',
      'serve /metrics on this address; a port alone means 127.0.0.1 (default: off)',
      listenAddress('--metrics-address', '127.0.0.1'),
    )
    .option(
      '--dashboard-address <host:port>',
      'serve the dashboard on this address; a port alone means 127.0.0.1 (default: off)',
      listenAddress('--dashboard-address', '127.0.0.1'),
    )
    .option(
      '--log-level <level>',
      'trace, debug, info, warn or error; trace and debug need --json',
      levelIn,
      'info',
    )
    .option('--json', 'print one JSON document per event')
    .addHelpText(
      'after',
      `
Reads the resources in DIR/*.yaml and writes DIR/out/<namespace>/secrets/<name>/{tls.crt,tls.key,ca.crt} and
DIR/out/<namespace>/configmaps/<name>/<key>. Each folder is replaced atomically, as the kubelet does. CA keys and state are
in DIR/state, which only you can read. One process at a time; it may be killed at any moment.
It prints one line with "ready" when everything is in place.

With --once, exit code 0 means that everything that can be done now is done, although a rotation may still wait for a consumer;
1 means that a resource, a file or a hook failed, an Authority cannot start, or handover status would exit with 1; the rest was
done. It waits up to 30 s for another command that works on the directory, such as rotate --wait, and then exits with
HOME_LOCKED: run it again later. SIGINT and SIGTERM end hooks and their children too.

Examples:
  $ handover run /etc/handover
  $ handover run /etc/handover --dashboard-address 127.0.0.1:8082
  $ handover run /etc/handover --metrics-address 127.0.0.1:9464
  $ handover run /etc/handover --once`,
    )
    .action(async (named: string | undefined, flags: Flags) => {
      const dir = named ?? homeInEnvironment();
      context.goOnUnheard();
      const metrics = await openMetrics(flags, context);
      const log = createLog({
        level: flags.logLevel,
        write: (line) => context.stdout.write(line),
        now: () => context.clock.now(),
      });
      const counted: readonly Meters[] = metrics === undefined ? [] : [metrics.meters];
      const home = openHome(dir, context, combineMeters(...counted, ...(flags.json ? [logMeters(log)] : [])));
      home.check();
      const speaker = new Speaker();
      const json = new EventLog(log, () => context.clock.now());
      const live = flags.once !== true && flags.json !== true && context.stdout.isTTY === true;
      const waits = new WaitsBelow(context);
      let shown: Awaited<ReturnType<typeof openDashboard>> | undefined;
      const say = (event: ControllerEvent): void => {
        if (flags.json === true) {
          json.on(event);
          return;
        }
        const level = event.kind === 'failed' ? 'error' : hasFailed(event) ? 'warn' : 'info';
        const lines = log.isLevelEnabled(level) ? speaker.lines(event) : [];
        if (lines.length > 0) waits.clear();
        for (const line of lines) context.stdout.write(`${withoutKeys(printable(line))}\n`);
        if (live) waits.heard(event);
      };
      const ready = new Ready();
      const on = (event: ControllerEvent): void => {
        metrics?.on(event);
        if (shown !== undefined) tellBoard(shown.board, event);
        say(event);
        const inPlace = flags.once === true ? undefined : ready.heard(event);
        if (inPlace === undefined) return;
        if (flags.json === true) log.info({ event: 'ready', ...inPlace });
        else if (log.isLevelEnabled('info')) context.stdout.write(`${readyLine(inPlace)}\n`);
      };
      const catalogue = home.load();
      const stopped = flags.once === true ? undefined : context.untilStopped(GRACE_MS);
      const waited = await waitForLock(home, stopped ?? context.clock.timeout(ONCE_WAITS_MS), {
        clock: context.clock,
        stays: stopped !== undefined,
        say: (line) =>
          flags.json === true
            ? log.info({ event: 'waiting', message: line })
            : context.stdout.write(`${line}\n`),
      });
      const lock = waited ?? (stopped === undefined ? await home.lock() : undefined);
      if (lock === undefined) return;
      const server = await serve(flags, metrics).catch(async (error: unknown) => {
        await lock.release();
        throw error;
      });
      if (server !== undefined) {
        const url = `${server.url}/metrics`;
        if (flags.json === true) log.info({ event: 'serving', url });
        else context.stdout.write(`metrics on ${url}\n`);
      }
      const tick = live ? context.clock.every(EVERY_MS, () => waits.show()) : undefined;
      try {
        if (flags.dashboardAddress !== undefined && flags.once !== true) {
          shown = await openDashboard(home, flags.dashboardAddress, context);
          const { url } = shown.dashboard;
          if (flags.json === true) log.info({ event: 'dashboard', url });
          else context.stdout.write(`dashboard: ${url}\n`);
        }
        if (stopped === undefined) {
          on({ kind: 'loaded', catalogue });
          const plans = new Map<string, Plan>();
          await passOnce(home, catalogue, (event) => {
            if (event.kind === 'rested' || event.kind === 'acted') plans.set(event.authority, event.plan);
            if (event.kind !== 'failed' && !hasFailed(event)) on(event);
          });
          refuseFrozen(home, catalogue);
          refusePending(plans);
          await refuseWrong(home);
          await refuseFailedHooks(home);
        } else await runDirectory(home, on, stopped);
      } finally {
        tick?.cancel();
        waits.clear();
        await server?.close();
        await shown?.dashboard.close();
        await lock.release();
      }
    });
};

/** An Authority without a CA waits for a person: a script must not take the run for complete. */
const refusePending = (plans: ReadonlyMap<string, Plan>): void => {
  for (const [id, { phase, blockedBy }] of plans)
    if (phase === 'Pending')
      throw new CliError('ADOPT_UNDECIDED', `${id} cannot start: ${waitingText(blockedBy)}`);
};

/** What is wrong after a pass, a pass cannot make right: a script must not take the run for complete. */
const refuseWrong = async (home: DirectoryHome): Promise<void> => {
  const [first, ...others] = (await statusOf(home.fresh)).wrong;
  if (first === undefined) return;
  const more = others.length === 0 ? '' : `; and ${others.length} more, see handover status`;
  throw new CliError('RUN_INCOMPLETE', `${first}${more}`, { retry: 'later' });
};

/** prom-client is loaded only where metrics are asked for. */
const openMetrics = async ({ metricsAddress }: Flags, { clock }: Context): Promise<Metrics | undefined> => {
  if (metricsAddress === undefined) return undefined;
  const { Metrics } = await import('../metrics/metrics.ts');
  return new Metrics({ version: version(), now: () => clock.now() });
};

const serve = async (
  { metricsAddress }: Flags,
  metrics: Metrics | undefined,
): Promise<BoundedServer | undefined> => {
  if (metricsAddress === undefined || metrics === undefined) return undefined;
  const { serveMetrics } = await import('../metrics/serve.ts');
  const [host, port] = metricsAddress;
  return serveMetrics(metrics, { host, port });
};
