import { chmod, lstat, unlink } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import { connect, type ListenOptions } from 'node:net';
import { resolve } from 'node:path';
import { HandoverError, instant } from '@handover/material';
import { writeAtomically } from './atomic-write.ts';
import { RuntimeError } from './error.ts';
import { isoTime, type SourceStatus, type StatusSource } from './status.ts';
import { warn } from './warn.ts';

/** Path that a controller requests. */
export const STATUS_PATH = '/handover/status';
/** Controllers read no more than this. */
const MAX_DOCUMENT_BYTES = 64 * 1024;
/** The file says when it was written; a controller takes the process for dead after a few missed writes. */
const HEARTBEAT_MS = 10_000;

/** The material that this process has loaded. A rotation waits for it. */
export interface StatusDocument {
  /** Readers refuse any other version. */
  readonly version: 1;
  /** When the document was made: ISO 8601. */
  readonly at: string;
  /** Process id. */
  readonly pid: number;
  /** `metadata.uid` of the pod, when given. */
  readonly podUid?: string;
  /** One entry for each source. */
  readonly sources: readonly SourceStatus[];
  /** True when the oldest CA fingerprints were left out to stay under 64 KiB. */
  readonly truncated?: true;
}

/** Give exactly one of `port`, `socket` and `file`. */
export interface StatusOptions {
  /** TCP port for plain HTTP, so that it still answers when the TLS of this process is broken. 0: any free port. */
  readonly port?: number;
  /** Address to listen on. Default: every address, because a controller connects from outside the pod. */
  readonly host?: string;
  /** Path of a unix socket for HTTP. */
  readonly socket?: string;
  /** Path of a file, replaced at each change and every 10 s. */
  readonly file?: string;
  /** Sources to show. */
  readonly sources: readonly StatusSource[];
  /** `metadata.uid` of the pod, from the downward API. */
  readonly podUid?: string;
  /** Closes the server. */
  readonly signal?: AbortSignal;
}

/** A running status server. */
export interface StatusServer {
  /** The TCP port. Undefined for a socket or a file. */
  readonly port: number | undefined;
  /** Stops serving; a file stays as it is. */
  close(): Promise<void>;
}

function render(options: StatusOptions): string {
  const document = (anchors: number): StatusDocument => ({
    version: 1,
    at: isoTime(instant(Date.now())),
    pid: process.pid,
    ...(options.podUid === undefined ? {} : { podUid: options.podUid }),
    sources: options.sources.map((source) => {
      const status = source.status();
      return status.anchors === undefined ? status : { ...status, anchors: status.anchors.slice(0, anchors) };
    }),
    ...(anchors === Number.POSITIVE_INFINITY ? {} : { truncated: true }),
  });
  let text = JSON.stringify(document(Number.POSITIVE_INFINITY));
  for (let anchors = 512; Buffer.byteLength(text) > MAX_DOCUMENT_BYTES && anchors >= 1; anchors /= 2) {
    text = JSON.stringify(document(anchors));
  }
  return text;
}

function answer(options: StatusOptions): Server {
  const server = createServer({ requestTimeout: 5_000, maxHeaderSize: 8_192 }, (request, response) => {
    const path = request.url?.split('?', 1)[0];
    const asked = request.method === 'GET' || request.method === 'HEAD';
    if (path !== STATUS_PATH || !asked) {
      response.writeHead(path === STATUS_PATH ? 405 : 404, { connection: 'close' }).end();
      return;
    }
    const body = Buffer.from(render(options));
    response
      .writeHead(200, {
        'content-type': 'application/json',
        'content-length': body.length,
        'cache-control': 'no-store',
        connection: 'close',
      })
      .end(request.method === 'HEAD' ? undefined : body);
  });
  server.maxConnections = 64;
  return server.unref();
}

const listen = (server: Server, where: ListenOptions): Promise<void> =>
  new Promise((resolved, reject) => {
    server.once('error', reject).listen(where, () => {
      server.off('error', reject);
      server.on('error', () => undefined); // a client went away
      resolved();
    });
  });

const isAlive = (socket: string): Promise<boolean> =>
  new Promise((resolved) => {
    const probe = connect(socket);
    probe.once('connect', () => {
      probe.destroy();
      resolved(true);
    });
    // A full backlog or a missing permission does not say that no process listens.
    probe.once('error', (error: NodeJS.ErrnoException) => resolved(error.code !== 'ECONNREFUSED'));
  });

async function listenOnSocket(server: Server, path: string): Promise<void> {
  try {
    await listen(server, { path });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw error;
    if (!(await lstat(path)).isSocket()) {
      throw new RuntimeError(
        'STATUS_LISTEN_FAILED',
        `the status document cannot be served on ${path}: the file there is not a socket; move it away, or choose another path`,
        { path },
      );
    }
    // A killed process leaves its socket behind.
    if (await isAlive(path)) throw error;
    await unlink(path);
    await listen(server, { path });
  }
  await chmod(path, 0o666); // the socket only answers reads
}

async function serveHttp(options: StatusOptions): Promise<StatusServer> {
  const server = answer(options);
  const where = options.socket ?? `port ${options.port}`;
  try {
    if (options.socket !== undefined) await listenOnSocket(server, resolve(options.socket));
    else
      await listen(server, {
        port: options.port,
        ...(options.host === undefined ? {} : { host: options.host }),
      });
  } catch (cause) {
    if (cause instanceof HandoverError) throw cause;
    throw new RuntimeError(
      'STATUS_LISTEN_FAILED',
      `the status document cannot be served on ${where}; is it free?`,
      {
        path: where,
        cause,
      },
    );
  }
  const address = server.address();
  return {
    port: typeof address === 'object' && address !== null ? address.port : undefined,
    close: () =>
      new Promise((resolved) => {
        server.close(() => resolved());
        server.closeAllConnections();
      }),
  };
}

async function serveFile(options: StatusOptions, path: string): Promise<StatusServer> {
  let queue = Promise.resolve();
  let waiting = false;
  let closed = false;
  let complained = false;
  const write = () => writeAtomically(path, `${render(options)}\n`, 0o644);
  const failed = (cause: unknown) => {
    if (!complained) {
      warn('STATUS_WRITE_FAILED', `the status document cannot be written to ${path}`, String(cause));
    }
    complained = true;
  };
  const changed = () => {
    if (waiting || closed) return;
    waiting = true;
    queue = queue.then(async () => {
      waiting = false;
      if (closed) return;
      await write().then(() => {
        complained = false;
      }, failed);
    });
  };
  try {
    await write();
  } catch (cause) {
    throw new RuntimeError('STATUS_WRITE_FAILED', `the status document cannot be written to ${path}`, {
      path,
      cause,
    });
  }
  // Not on `kept`: a listener there would silence the process warning. The heartbeat carries failures.
  for (const source of options.sources) source.on('reloaded', changed);
  const heartbeat = setInterval(changed, HEARTBEAT_MS).unref();
  return {
    port: undefined,
    close: async () => {
      closed = true;
      clearInterval(heartbeat);
      await queue;
    },
  };
}

async function start(options: StatusOptions): Promise<StatusServer> {
  const ways = [options.port, options.socket, options.file].filter((way) => way !== undefined);
  if (ways.length !== 1) {
    throw new RuntimeError('OPTION_INVALID', 'serveStatus takes exactly one of port, socket and file');
  }
  options.signal?.throwIfAborted();
  const server =
    options.file === undefined ? await serveHttp(options) : await serveFile(options, resolve(options.file));
  options.signal?.addEventListener('abort', () => void server.close(), { once: true });
  return server;
}

/**
 * Serves the status document of this process at `GET /handover/status`. Never holds the process open. A failure also
 * becomes a process warning.
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
