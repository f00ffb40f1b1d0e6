import { createServer, request } from 'node:http';
import { createServer as createTlsServer, type TLSSocket } from 'node:tls';
import { serveStatus } from '@handover/runtime';
import { grpcCaller, serveGrpc } from './grpc.ts';
import { handshake, handshakeOfProxy, type Target, type Verdict } from './handshake.ts';
import { MANNERS, type Manner } from './material.ts';
import { Tally, type Wishes } from './tally.ts';
import { serveApi } from './web.ts';

/** One program that plays every part of the mesh. */
interface Setting {
  readonly name: string;
  readonly manner: Manner;
  /** Seconds between seeing new files and loading them. */
  readonly delay?: number;
  /** Calls per second. */
  readonly rate: number;
  readonly targets: readonly Target[];
  /** Plain ports of proxies, each named `PROXY → NAME`: the proxy's own handshake with NAME is what counts. */
  readonly through?: readonly Target[];
  readonly collector: string;
  readonly ack?: boolean;
  readonly web?: boolean;
  readonly grpcServer?: boolean;
  readonly grpcTarget?: Target;
}

const MOST_UNDER_WAY = 40;
/** After the preStop pause: clients with our old address have used it by then. */
const LAST_CALLS_MS = 500;

const setting = JSON.parse(process.env.MESH ?? '{}') as Setting;
const pod = process.env.POD_NAME ?? '';
const tally = new Tally();
const material = await MANNERS[setting.manner](setting.delay);

const server = createTlsServer({ requestCert: true, rejectUnauthorized: true }, (socket: TLSSocket) => {
  socket.on('error', () => {});
  socket.once('data', (data) => socket.end(data));
});
server.on('tlsClientError', () => {}); // the caller counts it
material.serve(server);
await new Promise<void>((resolve) => server.listen(8443, resolve));
const { identity } = material;
if (identity !== undefined && setting.ack === true)
  await serveStatus({ port: 8081, sources: [identity], podUid: process.env.POD_UID ?? '' });
if (setting.web === true) await serveApi(material, 9443);
const endGrpc =
  identity !== undefined && setting.grpcServer === true ? await serveGrpc(identity, 8444) : undefined;
createServer((_, response) => response.end('ready')).listen(8080);

const callers: { readonly name: string; readonly call: () => Promise<Verdict> }[] = setting.targets.map(
  (target) => ({ name: target.name, call: () => handshake(target, material.client()) }),
);
for (const target of setting.through ?? [])
  callers.push({ name: target.name, call: () => handshakeOfProxy(target) });
if (identity !== undefined && setting.grpcTarget !== undefined) {
  const call = grpcCaller(identity, setting.grpcTarget);
  // As often as all others together: no other pod calls it.
  callers.push({ name: 'grpc (gRPC)', call }, { name: 'grpc (gRPC)', call });
}

let underWay = 0;
let turn = Math.floor(Math.random() * callers.length);
let load: NodeJS.Timeout | undefined;
const callNext = (): void => {
  if (underWay >= MOST_UNDER_WAY) {
    tally.skipped++;
    return;
  }
  const caller = callers[turn++ % callers.length];
  if (caller === undefined) return;
  underWay++;
  void caller.call().then((verdict) => {
    underWay--;
    tally.add(caller.name, verdict);
  });
};

/** Reports its state; the answer says whether to make calls, and may ask for single handshakes. */
const report = (): Promise<void> =>
  new Promise((resolve) => {
    const asking = request(setting.collector, { method: 'POST', agent: false }, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (chunk: string) => {
        text += chunk;
      });
      response.on('end', () => {
        const { go = false, tries = [] } = JSON.parse(text || '{}') as Partial<Wishes>;
        if (go) load ??= setInterval(callNext, 1_000 / setting.rate);
        for (const target of tries) {
          if (tally.tried[target.id] !== undefined) continue;
          tally.tried[target.id] = 'under way';
          void handshake(target, material.client()).then((verdict) => {
            tally.tried[target.id] = verdict.ok ? 'accepted' : verdict.why;
          });
        }
        resolve();
      });
    });
    asking.on('error', () => resolve());
    asking.end(JSON.stringify(tally.report(pod, setting.name)));
  });
const reporting = setInterval(() => void report(), 1_000);

process.once('SIGTERM', () => {
  clearInterval(load);
  const started = Date.now();
  const ending = setInterval(() => {
    if (underWay > 0 || Date.now() - started < LAST_CALLS_MS) return;
    clearInterval(ending);
    clearInterval(reporting);
    server.close();
    void Promise.all([report(), endGrpc?.()]).then(() => process.exit(0));
  }, 100);
});
