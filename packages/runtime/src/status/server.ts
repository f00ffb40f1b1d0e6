import { type Clock, HandoverError } from '@handover/material';
import { mustBePort, mustBeSources, mustKnowOptions } from '../arguments.ts';
import { RuntimeError } from '../error.ts';
import { clockIn } from '../options.ts';
import { warn } from '../warn.ts';
import { groupOf, membershipOn, Worker, withOwnWorkers } from './cluster.ts';
import { isClusterWorker } from './cluster-process.ts';
import { withDefaultTrust } from './default-trust.ts';
import { endpointFor } from './endpoints.ts';
import { ProcessRegistry } from './process-registry.ts';
import { type Shown, type StatusSource, shownOf } from './status.ts';

/**
 * Give exactly one of `port`, `socket` and `file`.
 *
 * @example
 * ```ts
 * import { type StatusOptions, serveStatus } from '@handover/runtime';
 *
 * const options: StatusOptions = { socket: '/etc/mesh/status.sock', sources: [trust, identity] };
 * await serveStatus(options);
 * ```
 */
export interface StatusOptions {
  /** TCP port for plain HTTP, so that it still answers when the TLS of this process is broken. 0: any free port. */
  readonly port?: number | undefined;
  /** Address to listen on. Default: every address, because a controller connects from outside the pod. */
  readonly host?: string | undefined;
  /** Path of a unix socket for HTTP. */
  readonly socket?: string | undefined;
  /** Path of a file, replaced at each change and every 10 s. */
  readonly file?: string | undefined;
  /** Sources to show. */
  readonly sources: readonly StatusSource[];
  /** `metadata.uid` of the pod, from the downward API. */
  readonly podUid?: string | undefined;
  /** Closes the server. */
  readonly signal?: AbortSignal | undefined;
}

/** Where a status is shown. */
export type StatusPlace = Omit<StatusOptions, 'sources' | 'signal'>;

/**
 * A running status server.
 *
 * @example
 * ```ts
 * import { type StatusServer, serveStatus } from '@handover/runtime';
 *
 * const status: StatusServer = await serveStatus({ port: 8081, sources: [identity] });
 * await status.close();
 * ```
 */
export interface StatusServer {
  /** The TCP port. Undefined for a socket or a file. */
  readonly port: number | undefined;
  /** Stops serving; a file stays as it is. */
  close(): Promise<void>;
}

export const placeName = ({ file, socket, port }: StatusPlace): string => file ?? socket ?? `port ${port}`;

/** An error that says which place cannot be had. */
export function placeError(options: StatusPlace, cause: unknown): HandoverError {
  if (cause instanceof HandoverError) return cause;
  const path = placeName(options);
  return new RuntimeError(
    'STATUS_LISTEN_FAILED',
    `the status document cannot be served on ${path}; is it free?`,
    { path, cause },
  );
}

async function serveInWorker(options: StatusPlace, shown: Shown, clock: Clock): Promise<StatusServer> {
  const registry = process.platform === 'linux' ? new ProcessRegistry(options) : undefined;
  const membership = membershipOn(registry, process.ppid);
  const worker = new Worker(
    endpointFor(options, membership, clock),
    () => shown.statuses(),
    membership,
    clock,
  );
  await worker.enter().catch(async (error: unknown) => {
    await worker.close(); // the others need not wait for it
    throw error;
  });
  shown.onChange(() => worker.changed());
  return { port: options.port, close: () => worker.close() };
}

async function serveAlone(options: StatusPlace, shown: Shown, clock: Clock): Promise<StatusServer> {
  const group = groupOf(() => shown.statuses(), [], withOwnWorkers, clock);
  const { port, changed, close } = await endpointFor(options, undefined, clock).lead(group);
  // The heartbeat carries failures.
  shown.onChange(changed);
  return {
    port,
    close: async () => {
      group.siblings.leave();
      await close();
    },
  };
}

/** Serves what a process shows of itself. */
export async function serveShown(
  options: Omit<StatusOptions, 'sources'>,
  shown: Shown,
): Promise<StatusServer> {
  // Port 0 is another port in each process, so that each answers for itself.
  const isShared = isClusterWorker() && options.port !== 0;
  const serve = isShared ? serveInWorker : serveAlone;
  const server = await serve(options, shown, clockIn(options)).catch((cause: unknown) => {
    throw placeError(options, cause);
  });
  options.signal?.addEventListener('abort', () => void server.close(), { once: true });
  return server;
}

async function start(options: StatusOptions): Promise<StatusServer> {
  mustKnowOptions(options, 'serveStatus', ['port', 'host', 'socket', 'file', 'sources', 'podUid', 'signal']);
  mustBePort(options.port, 'serveStatus');
  mustBeSources(options.sources, 'serveStatus');
  const ways = [options.port, options.socket, options.file].filter((way) => way !== undefined);
  if (ways.length !== 1) {
    throw new RuntimeError('OPTION_INVALID', 'serveStatus takes exactly one of port, socket and file');
  }
  options.signal?.throwIfAborted();
  return serveShown(options, withDefaultTrust(shownOf(options.sources), clockIn(options)));
}

/**
 * Serves the status document of this process at `GET /handover/status`. Never holds the process open. A failure also
 * becomes a process warning. Under `node:cluster` call it in each worker: one worker answers for all of them.
 *
 * @example
 * ```ts
 * import { openTrust, type StatusDocument, serveStatus } from '@handover/runtime';
 *
 * const trust = await openTrust('/etc/mesh/ca.crt');
 * const { port } = await serveStatus({ port: 8081, sources: [trust] });
 * const response = await fetch(`http://127.0.0.1:${port}/handover/status`);
 * const { sources } = (await response.json()) as StatusDocument;
 * console.log(sources[0]?.loads); // 1
 * ```
 */
export function serveStatus(options: StatusOptions): Promise<StatusServer> {
  const started = start(options);
  started.catch((error: Error) => warn('STATUS_FAILED', error.message));
  return started;
}
