import { chmod, lstat, unlink } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import { connect, type ListenOptions } from 'node:net';
import { resolve } from 'node:path';
import { HandoverError, instant } from '@handover/material';
import { writeAtomically } from './atomic-write.ts';
import { isoTime, type SourceStatus, type StatusSource } from './status.ts';

/** Where a controller asks. */
export const STATUS_PATH = '/handover/status';
/** Readers stop there. */
const MAX_DOCUMENT_BYTES = 64 * 1024;
/** A file says when it was written; older than a few of these, its process is gone. */
const HEARTBEAT_MS = 10_000;

/** What this process has loaded: the acknowledgement that a rotation waits for. */
export interface StatusDocument {
  readonly version: 1;
  readonly at: string;
  readonly pid: number;
  readonly podUid?: string;
  readonly sources: readonly SourceStatus[];
  /** The oldest anchors were left out to stay under 64 KiB. */
  readonly truncated?: true;
}

export interface StatusOptions {
  /** HTTP, not TLS: it has to answer when this process's own TLS is broken. */
  readonly port?: number;
  /** Default: every address, since a controller asks from outside the pod. */
  readonly host?: string;
  /** HTTP over a unix socket. */
  readonly socket?: string;
  /** A file, replaced at every change and every 10 s. */
  readonly file?: string;
  readonly sources: readonly StatusSource[];
  readonly podUid?: string;
  readonly signal?: AbortSignal;
}

export interface StatusServer {
  /** The port that was given out, when one was asked for. */
  readonly port: number | undefined;
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
      server.on('error', () => undefined); // a client that goes away is no event
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
    // A full backlog or a missing permission says nothing about who listens.
    probe.once('error', (error: NodeJS.ErrnoException) => resolved(error.code !== 'ECONNREFUSED'));
  });

async function listenOnSocket(server: Server, path: string): Promise<void> {
  try {
    await listen(server, { path });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw error;
    if (!(await lstat(path)).isSocket()) {
      throw new HandoverError(
        'STATUS_LISTEN_FAILED',
        `the status document cannot be served on ${path}: a file is there that is no socket; move it away, or choose another path`,
        { path },
      );
    }
    // Left behind by a process that was killed: no process listens there.
    if (await isAlive(path)) throw error;
    await unlink(path);
    await listen(server, { path });
  }
  await chmod(path, 0o666); // to read it is all that one can do with it
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
    throw new HandoverError(
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
      process.emitWarning(`the status document cannot be written to ${path}`, {
        type: 'HandoverWarning',
        code: 'STATUS_WRITE_FAILED',
        detail: String(cause),
      });
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
    throw new HandoverError('STATUS_WRITE_FAILED', `the status document cannot be written to ${path}`, {
      path,
      cause,
    });
  }
  // Not on `kept`: listening there would silence the warning for nobody listening. The heartbeat carries failures.
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
    throw new HandoverError('OPTION_INVALID', 'serveStatus takes exactly one of port, socket and file');
  }
  options.signal?.throwIfAborted();
  const server =
    options.file === undefined ? await serveHttp(options) : await serveFile(options, resolve(options.file));
  options.signal?.addEventListener('abort', () => void server.close(), { once: true });
  return server;
}

/** Shows what this process has loaded. Never holds the process open; a failure nobody awaits becomes a warning. */
export function serveStatus(options: StatusOptions): Promise<StatusServer> {
  const started = start(options);
  started.catch((error: Error) => {
    process.emitWarning(error.message, { type: 'HandoverWarning', code: 'STATUS_FAILED' });
  });
  return started;
}
