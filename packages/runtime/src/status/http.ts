import { lstatSync, unlinkSync } from 'node:fs';
import { chmod } from 'node:fs/promises';
import { createServer, type RequestOptions, request, type Server } from 'node:http';
import { connect, type ListenOptions, type Server as NetServer, type Socket } from 'node:net';
import { isMainThread } from 'node:worker_threads';
import { type Clock, STATUS_PATH } from '@handover/material';
import { RuntimeError } from '../error.ts';
import { birthOf } from './cluster-process.ts';
import type { Siblings } from './siblings.ts';

/** Connections of controllers, and of the processes of one group. */
const MAX_CONNECTIONS = 64;
const MAX_SIBLINGS = 1_024;
/** Name of the protocol between the processes of one group, and headers with a process's id and its start. */
const UPGRADE = 'handover-siblings';
const PID_HEADER = 'handover-pid';
const BIRTH_HEADER = 'handover-birth';
const JOIN_MS = 1_000;
/** Between binding a unix socket and listening on it. */
const LISTEN_MS = 50;

/** By default Node closes a connection that asks nothing after a minute, and checks for those every 30 s. */
const LIMITS = {
  requestTimeout: 5_000,
  headersTimeout: 5_000,
  connectionsCheckingInterval: 1_000,
  maxHeaderSize: 8_192,
} as const;

const SILENCE_MS = 10_000;

/**
 * A connection beyond the limit takes the place of the oldest one that has asked nothing: connections held open on purpose lock no controller out.
 * Those of siblings have a bound of their own.
 */
function keepNewest(server: Server): void {
  const open = new Set<Socket>();
  const asking = new Set<Socket>();
  // A client that does not read its answer.
  server.timeout = SILENCE_MS;
  const forget = (socket: Socket): void => {
    open.delete(socket);
    asking.delete(socket);
  };
  server
    .on('connection', (socket) => {
      open.add(socket);
      socket.once('close', () => forget(socket));
      if (open.size <= MAX_CONNECTIONS) return;
      for (const one of open) {
        if (asking.has(one)) continue;
        one.destroy();
        return;
      }
    })
    .on('request', ({ socket }) => asking.add(socket))
    .on('upgrade', ({ socket }) => forget(socket.setTimeout(0)));
}

/** Answers `GET /handover/status` with the text. */
export function documentServer(render: () => Promise<string>): Server {
  const server = createServer(LIMITS, (asked, response) => {
    const path = asked.url?.split('?', 1)[0];
    const isRead = asked.method === 'GET' || asked.method === 'HEAD';
    if (path !== STATUS_PATH || !isRead) {
      response.writeHead(path === STATUS_PATH ? 405 : 404, { connection: 'close' }).end();
      return;
    }
    const send = (text: string) => {
      const body = Buffer.from(text);
      response
        .writeHead(200, {
          'content-type': 'application/json',
          'content-length': body.length,
          'cache-control': 'no-store',
          connection: 'close',
        })
        .end(asked.method === 'HEAD' ? undefined : body);
    };
    render().then(send, () => response.writeHead(500, { connection: 'close' }).end());
  });
  keepNewest(server);
  return server.unref();
}

/** Takes connections of siblings on the same server. `mayJoin` decides by the connection, `siblings` by the process id. */
export function takeSiblings(server: Server, siblings: Siblings, mayJoin: (socket: Socket) => boolean): void {
  let joined = 0;
  server.on('upgrade', ({ headers }, stream) => {
    const socket = stream as Socket;
    const pid = Number(headers[PID_HEADER]);
    const birth = headers[BIRTH_HEADER];
    if (
      headers.upgrade !== UPGRADE ||
      !Number.isSafeInteger(pid) ||
      pid < 1 ||
      joined >= MAX_SIBLINGS ||
      !mayJoin(socket)
    ) {
      socket.destroy();
      return;
    }
    joined++;
    socket.once('close', () => joined--);
    socket.write(`HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: ${UPGRADE}\r\n\r\n`);
    if (Array.isArray(birth) || !siblings.accept(pid, birth, socket)) socket.destroy();
  });
}

/** Connects to the sibling that answers there; undefined when it does not take this process. */
export const joinSibling = (where: RequestOptions): Promise<Socket | undefined> =>
  new Promise((resolve) => {
    const birth = birthOf(process.pid);
    const headers = {
      connection: 'upgrade',
      upgrade: UPGRADE,
      [PID_HEADER]: process.pid,
      ...(birth === undefined ? {} : { [BIRTH_HEADER]: birth }),
    };
    const refused = () => resolve(undefined);
    const asked = request({ ...where, path: STATUS_PATH, headers, agent: false, timeout: JOIN_MS });
    asked
      .on('upgrade', (_response, socket, head) => {
        socket.setTimeout(0);
        if (head.length > 0) socket.unshift(head);
        resolve(socket);
      })
      .on('response', (response) => {
        response.resume();
        refused();
      })
      .on('timeout', () => asked.destroy())
      .on('error', refused)
      .on('close', refused)
      .end();
  });

/** Listens in this process alone: otherwise the workers of a cluster share the place, and any one of them answers. */
export const listen = (server: NetServer, where: ListenOptions): Promise<void> =>
  new Promise((resolve, reject) => {
    server.once('error', reject).listen({ ...where, exclusive: true }, () => {
      server.off('error', reject);
      server.on('error', () => undefined); // a client went away
      resolve();
    });
  });

const answers = (socket: string): Promise<boolean> =>
  new Promise((resolve) => {
    const probe = connect(socket);
    probe.once('connect', () => {
      probe.destroy();
      resolve(true);
    });
    // A full backlog or a missing permission does not say that no process listens.
    probe.once('error', (error: NodeJS.ErrnoException) => resolve(error.code !== 'ECONNREFUSED'));
  });

/** A process refuses connections for a moment before it listens: only a second refusal says that it ended. */
async function isAlive(socket: string, clock: Clock): Promise<boolean> {
  if (await answers(socket)) return true;
  await clock.sleep(LISTEN_MS);
  return answers(socket);
}

/** Which file it is, or undefined when there is none. */
export const fileId = (path: string): string | undefined => {
  const stats = lstatSync(path, { throwIfNoEntry: false, bigint: true });
  return stats === undefined ? undefined : `${stats.dev}:${stats.ino}:${stats.ctimeNs}`;
};

/** The socket has its mode from the start: before a chmod another user could connect. Only the main thread can set the mask. */
function listenAs(server: Server, path: string, mode: number): Promise<void> {
  if (!isMainThread) return listen(server, { path });
  const mask = process.umask(~mode & 0o777);
  try {
    return listen(server, { path }); // binds before it returns
  } finally {
    process.umask(mask);
  }
}

export async function listenOnSocket(
  server: Server,
  path: string,
  mode: number,
  clock: Clock,
): Promise<void> {
  try {
    await listenAs(server, path, mode);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw error;
    // It may vanish meanwhile: the process that had it has left.
    if (lstatSync(path, { throwIfNoEntry: false })?.isSocket() === false) {
      throw new RuntimeError(
        'STATUS_LISTEN_FAILED',
        `the status document cannot be served on ${path}: the file there is not a socket; move it away, or choose another path`,
        { path },
      );
    }
    // A killed process leaves its socket behind. Another process may replace it at the same moment.
    const left = fileId(path);
    if (left !== undefined) {
      if ((await isAlive(path, clock)) || fileId(path) !== left) throw error;
      unlinkSync(path);
    }
    await listenAs(server, path, mode);
  }
  await chmod(path, mode);
}

export const closeServer = (server: Server): Promise<void> =>
  new Promise((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });
