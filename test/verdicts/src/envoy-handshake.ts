import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { createServer } from 'node:https';
import { join } from 'node:path';
import { connect } from 'node:tls';
import { temporaryFolder } from '@handover/test-api-server';
import { findEnvoy } from '../../field/src/envoy.ts';
import type { Exhibit, Judge } from './judges.ts';

const TLS = 'type.googleapis.com/envoy.extensions.transport_sockets.tls.v3';
const HTTP = 'type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3';
const ROUTER = 'type.googleapis.com/envoy.extensions.filters.http.router.v3.Router';

const TLS_1_3 = { tls_maximum_protocol_version: 'TLSv1_3' };

const pipe = (path: string): object => ({ pipe: { path } });
const presented = ({ chain, leafKey }: Exhibit): { readonly cert: string; readonly key: string } => ({
  cert: chain.map(({ pem }) => pem).join(''),
  key: leafKey.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
});
const trusts = (root: string, { folder }: Exhibit): object => ({
  trusted_ca: { filename: join(root, folder, 'bundle.pem') },
});

/** `sockets`: a folder with a short path, because the path of a unix socket has at most 107 characters (unix(7)). */
interface Place {
  readonly root: string;
  readonly sockets: string;
}
const asks = ({ sockets }: Place): string => join(sockets, 'ask');
const listens = ({ sockets }: Place, { folder }: Exhibit): string => join(sockets, `${folder}.in`);
const serves = ({ sockets }: Place, { folder }: Exhibit): string => join(sockets, `${folder}.out`);

const manager = (name: string, routes: readonly object[]): object => ({
  name: 'http',
  typed_config: {
    '@type': `${HTTP}.HttpConnectionManager`,
    stat_prefix: name,
    route_config: { virtual_hosts: [{ name, domains: ['*'], routes }] },
    http_filters: [{ name: 'router', typed_config: { '@type': ROUTER } }],
    local_reply_config: {
      body_format: { text_format_source: { inline_string: '%UPSTREAM_TRANSPORT_FAILURE_REASON%' } },
    },
  },
});

/** Judges clients: a listener that trusts the bundle of this exhibit. Its own certificate is not asked about. */
const listener = (place: Place, exhibit: Exhibit, own: object): object => ({
  name: exhibit.folder,
  address: pipe(listens(place, exhibit)),
  filter_chains: [
    {
      transport_socket: {
        name: 'tls',
        typed_config: {
          '@type': `${TLS}.DownstreamTlsContext`,
          require_client_certificate: true,
          common_tls_context: { tls_certificates: [own], validation_context: trusts(place.root, exhibit) },
        },
      },
      filters: [
        manager('in', [
          { match: { prefix: '/' }, direct_response: { status: 200, body: { inline_string: 'ok' } } },
        ]),
      ],
    },
  ],
});

/** Judges servers: an upstream that must chain to the bundle of this exhibit. */
const cluster = (place: Place, exhibit: Exhibit): object => ({
  name: exhibit.folder,
  type: 'STATIC',
  load_assignment: {
    cluster_name: exhibit.folder,
    endpoints: [{ lb_endpoints: [{ endpoint: { address: pipe(serves(place, exhibit)) } }] }],
  },
  transport_socket: {
    name: 'tls',
    typed_config: {
      '@type': `${TLS}.UpstreamTlsContext`,
      // A client's default is TLS 1.2 with X25519 and P-256, where a P-384 leaf cannot be used at all.
      common_tls_context: { tls_params: TLS_1_3, validation_context: trusts(place.root, exhibit) },
    },
  },
});

const bootstrap = (place: Place, exhibits: readonly Exhibit[]): object => {
  const [first] = exhibits;
  if (first === undefined) throw new Error('nothing to judge');
  const { cert, key } = presented(first);
  const own = { certificate_chain: { inline_string: cert }, private_key: { inline_string: key } };
  const routes = exhibits.map(({ folder }) => ({
    match: { path: `/${folder}` },
    route: { cluster: folder },
  }));
  return {
    static_resources: {
      listeners: [
        { name: 'ask', address: pipe(asks(place)), filter_chains: [{ filters: [manager('ask', routes)] }] },
        ...exhibits.map((exhibit) => listener(place, exhibit, own)),
      ],
      clusters: exhibits.map((exhibit) => cluster(place, exhibit)),
    },
  };
};

/** What Envoy says of a server that presents the chain. */
const onServer = async (place: Place, exhibit: Exhibit): Promise<string> => {
  const server = createServer(presented(exhibit), (_, response) => response.end('ok'));
  server.on('tlsClientError', () => {}); // Envoy's answer says why
  await new Promise<void>((resolve) => server.listen(serves(place, exhibit), resolve));
  try {
    return await new Promise<string>((resolve, reject) => {
      const options = { socketPath: asks(place), path: `/${exhibit.folder}`, agent: false };
      const asking = request(options, (response) => {
        let text = '';
        response.setEncoding('utf8').on('data', (chunk: string) => {
          text += chunk;
        });
        response.on('end', () => {
          if (response.statusCode === 200) resolve('ok');
          // Any other failure is not a verdict on the chain.
          else if (text.includes('CERTIFICATE_VERIFY_FAILED')) resolve(text);
          else reject(new Error(`VERDICTS_ENVOY: no verdict on ${exhibit.folder}: ${text}`));
        });
      });
      asking.on('error', reject);
      asking.end();
    });
  } finally {
    server.closeAllConnections();
    await new Promise((closed) => server.close(closed));
  }
};

/** What Envoy says of a client that presents the chain: with TLS 1.3 only its answer shows that it accepted. */
const onClient = (place: Place, exhibit: Exhibit): Promise<string> =>
  new Promise((resolve) => {
    const path = listens(place, exhibit);
    const socket = connect({ path, ...presented(exhibit), rejectUnauthorized: false });
    socket.on('secureConnect', () =>
      socket.write('GET / HTTP/1.1\r\nhost: peer\r\nconnection: close\r\n\r\n'),
    );
    let text = '';
    socket.setEncoding('utf8').on('data', (chunk: string) => {
      text += chunk;
    });
    socket.on('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
    socket.on('close', () => resolve(text.startsWith('HTTP/1.1 200') ? 'ok' : `closed ${text.slice(0, 80)}`));
  });

/** One Envoy with a listener and an upstream for each exhibit; every opinion is a real handshake with it. */
export const envoyHandshakes: Judge = async (root, exhibits) => {
  const place: Place = { root, sockets: temporaryFolder() };
  const file = join(place.sockets, 'envoy.json');
  writeFileSync(file, JSON.stringify(bootstrap(place, exhibits)), { mode: 0o600 });
  const flags = ['--concurrency', '1', '--disable-hot-restart', '--log-level', 'error'];
  const child = spawn(findEnvoy(), ['-c', file, ...flags], { stdio: ['ignore', 'ignore', 'pipe'] });
  let said = '';
  child.stderr.setEncoding('utf8').on('data', (chunk: string) => {
    said = (said + chunk).slice(-2_000);
  });
  const ended = once(child, 'close');
  try {
    const last = exhibits.at(-1);
    while (last !== undefined && !existsSync(listens(place, last))) {
      if (child.exitCode !== null) throw new Error(`VERDICTS_ENVOY: Envoy does not start: ${said.trim()}`);
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    const opinions = [];
    for (const exhibit of exhibits)
      opinions.push({ server: await onServer(place, exhibit), client: await onClient(place, exhibit) });
    return opinions;
  } finally {
    child.kill('SIGTERM');
    await ended;
  }
};
