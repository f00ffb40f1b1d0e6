import { readFileSync, readlinkSync } from 'node:fs';
import { get } from 'node:http';
import { createServer, request, type Server } from 'node:https';
import { type ConnectionOptions, createSecureContext } from 'node:tls';
import { openIdentity } from '@handover/runtime';
import { onTestFinished } from 'vitest';

/** A Node program with a certificate, as client and as server. */
export interface Peer {
  readonly server: Server;
  /** For one handshake, now. */
  client(): ConnectionOptions;
}

/** Asks for a client certificate; answers with its own name, and closes. */
const serverNamed = (name: string): Server => {
  const server = createServer({ requestCert: true, rejectUnauthorized: true }, (_, response) =>
    response.writeHead(200, { connection: 'close' }).end(name),
  );
  server.on('tlsClientError', () => {}); // the caller counts it
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return server;
};

/** With our runtime: follows its files. */
export const hotPeer = async (name: string, tls: string): Promise<Peer> => {
  const end = new AbortController();
  onTestFinished(() => end.abort());
  const paths = { cert: `${tls}/tls.crt`, key: `${tls}/tls.key`, ca: `${tls}/ca.crt` };
  const identity = await openIdentity(paths, { signal: end.signal });
  const server = serverNamed(name);
  identity.serve(server);
  return { server, client: () => identity.tlsOptions() };
};

/** Without it: loads all files of a snapshot `delayMs` after it saw a new one. Nobody can ask what it has loaded. */
export const latePeer = (name: string, tls: string, delayMs: number): Peer => {
  const filesIn = (snapshot: string) => ({
    cert: readFileSync(`${tls}/${snapshot}/tls.crt`),
    key: readFileSync(`${tls}/${snapshot}/tls.key`),
    ca: readFileSync(`${tls}/${snapshot}/ca.crt`),
  });
  const snapshot = (): string => readlinkSync(`${tls}/..data`);
  const server = serverNamed(name);
  let seen = snapshot();
  let context = createSecureContext(filesIn(seen));
  server.setSecureContext(filesIn(seen));
  let since: number | undefined;
  const timer = setInterval(() => {
    try {
      const now = snapshot();
      if (now === seen) return;
      since ??= performance.now();
      if (performance.now() < since + delayMs) return;
      const files = filesIn(now);
      context = createSecureContext(files);
      server.setSecureContext(files);
      [since, seen] = [undefined, now];
    } catch {
      // swapped in between: loaded by the next check
    }
  }, 200);
  onTestFinished(() => clearInterval(timer));
  return { server, client: () => ({ secureContext: context }) };
};

const TIMEOUT_MS = 90_000;

/** One request to `/PATH`; the answer must be `expected`. Undefined: it was. */
const judged = (ask: typeof get | typeof request, options: object, expected: string) =>
  new Promise<string | undefined>((resolve) => {
    const asking = ask({ ...options, agent: false, timeout: TIMEOUT_MS }, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (chunk: string) => {
        text += chunk;
      });
      response.on('end', () =>
        resolve(
          response.statusCode === 200 && text === expected
            ? undefined
            : `${response.statusCode} ${text}`.slice(0, 200),
        ),
      );
      response.on('error', (error) => resolve(error.message));
    });
    asking.on('timeout', () => asking.destroy(new Error('timeout')));
    asking.on('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
    asking.end();
  });

/** Through an Envoy's plain port, which calls that upstream with mTLS. */
export const callThrough = (plainPort: number, upstream: string): Promise<string | undefined> =>
  judged(get, { host: '127.0.0.1', port: plainPort, path: `/${upstream}` }, upstream);

/** A full handshake with a client certificate. */
export const callMtls = (
  client: ConnectionOptions,
  to: { readonly name: string; readonly port: number; readonly servername: string },
): Promise<string | undefined> =>
  judged(
    request,
    {
      ...client,
      host: '127.0.0.1',
      port: to.port,
      servername: to.servername,
      headers: { connection: 'close' },
    },
    to.name,
  );
