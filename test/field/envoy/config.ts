const TLS = 'type.googleapis.com/envoy.extensions.transport_sockets.tls.v3';
const HTTP = 'type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3';
const STREAM = 'type.googleapis.com/envoy.extensions.filters.network';
const ROUTER = 'type.googleapis.com/envoy.extensions.filters.http.router.v3.Router';
const HTTP_OPTIONS = 'envoy.extensions.upstreams.http.v3.HttpProtocolOptions';

/**
 * How Envoy learns of new files. `directory`: a watched directory, as Envoy's documentation asks for. `files`: no directory
 * is named, which is what Envoy Gateway writes for its proxies.
 */
export type Watching = 'directory' | 'files';

export interface Upstream {
  readonly name: string;
  /** Address and port. */
  readonly address: string;
  /** The DNS name that its certificate must have. */
  readonly servername: string;
}

/** `http`: answers requests with its name. `bytes`: sends back what it gets, and forwards connections as they are. */
export type Speech = 'http' | 'bytes';

export interface EnvoySetting {
  readonly name: string;
  readonly speaks: Speech;
  /** Folder with tls.crt, tls.key and ca.crt. */
  readonly tls: string;
  /** Folder of the files that `filesOf` gives. */
  readonly conf: string;
  readonly watching: Watching;
  readonly bind: string;
  /** With `bytes`, `plain` is the port of the first upstream, and the others follow. */
  readonly ports: { readonly mtls: number; readonly plain: number; readonly admin: number };
  readonly upstreams: readonly Upstream[];
}

const socket = (address: string, port: number): object => ({
  socket_address: { address, port_value: port },
});
const split = (address: string): readonly [string, number] => {
  const at = address.lastIndexOf(':');
  return [address.slice(0, at), Number(address.slice(at + 1))];
};

/** The secrets that Envoy follows, each in a file of its own: SDS by path. */
const secretFiles = ({ tls, watching }: EnvoySetting): Readonly<Record<string, object>> => {
  const watched = watching === 'directory' ? { watched_directory: { path: tls } } : {};
  const secret = (name: string, content: object): object => ({
    resources: [{ '@type': `${TLS}.Secret`, name, ...content }],
  });
  return {
    'identity.json': secret('identity', {
      tls_certificate: {
        certificate_chain: { filename: `${tls}/tls.crt` },
        private_key: { filename: `${tls}/tls.key` },
        ...watched,
      },
    }),
    'trust.json': secret('trust', {
      validation_context: { trusted_ca: { filename: `${tls}/ca.crt` }, ...watched },
    }),
  };
};

const sds = ({ conf }: EnvoySetting, name: 'identity' | 'trust'): object => ({
  name,
  sds_config: { path_config_source: { path: `${conf}/${name}.json` }, resource_api_version: 'V3' },
});

const manager = (name: string, routes: readonly object[]): object => ({
  name: 'http',
  typed_config: {
    '@type': `${HTTP}.HttpConnectionManager`,
    stat_prefix: name,
    route_config: { virtual_hosts: [{ name, domains: ['*'], routes }] },
    http_filters: [{ name: 'router', typed_config: { '@type': ROUTER } }],
  },
});

const echo = { name: 'echo', typed_config: { '@type': `${STREAM}.echo.v3.Echo` } };
const ownName = (name: string): object =>
  manager('mtls', [
    { match: { prefix: '/' }, direct_response: { status: 200, body: { inline_string: name } } },
  ]);

/** For clients with a certificate only. */
const mtlsListener = (setting: EnvoySetting): object => ({
  name: 'mtls',
  address: socket(setting.bind, setting.ports.mtls),
  filter_chains: [
    {
      transport_socket: {
        name: 'tls',
        typed_config: {
          '@type': `${TLS}.DownstreamTlsContext`,
          require_client_certificate: true,
          common_tls_context: {
            tls_certificate_sds_secret_configs: [sds(setting, 'identity')],
            validation_context_sds_secret_config: sds(setting, 'trust'),
          },
        },
      },
      filters: [setting.speaks === 'http' ? ownName(setting.name) : echo],
    },
  ],
});

/** Plain in, mTLS out. No retries, so that each failure is seen. */
const plainListeners = ({ bind, ports, speaks, upstreams }: EnvoySetting): readonly object[] => {
  const listener = (name: string, port: number, filter: object): object => ({
    name,
    address: socket(bind, port),
    filter_chains: [{ filters: [filter] }],
  });
  if (speaks === 'http') {
    const routes = upstreams.map(({ name }) => ({ match: { prefix: `/${name}` }, route: { cluster: name } }));
    return [listener('plain', ports.plain, manager('plain', routes))];
  }
  return upstreams.map(({ name }, index) =>
    listener(`to ${name}`, ports.plain + index, {
      name: 'proxy',
      typed_config: { '@type': `${STREAM}.tcp_proxy.v3.TcpProxy`, stat_prefix: name, cluster: name },
    }),
  );
};

const ONE_REQUEST = {
  '@type': `type.googleapis.com/${HTTP_OPTIONS}`,
  common_http_protocol_options: { max_requests_per_connection: 1 },
  explicit_http_config: { http_protocol_options: {} },
};

const cluster = (setting: EnvoySetting, { name, address, servername }: Upstream): object => ({
  name,
  type: 'STATIC',
  // For a very busy machine; a handshake takes a few milliseconds.
  connect_timeout: '60s',
  load_assignment: {
    cluster_name: name,
    endpoints: [{ lb_endpoints: [{ endpoint: { address: socket(...split(address)) } }] }],
  },
  // A connection for every request; without HTTP there is one for each anyway.
  ...(setting.speaks === 'http' ? { typed_extension_protocol_options: { [HTTP_OPTIONS]: ONE_REQUEST } } : {}),
  transport_socket: {
    name: 'tls',
    typed_config: {
      '@type': `${TLS}.UpstreamTlsContext`,
      sni: servername,
      max_session_keys: 0,
      common_tls_context: {
        tls_params: { tls_maximum_protocol_version: 'TLSv1_3' },
        tls_certificate_sds_secret_configs: [sds(setting, 'identity')],
        combined_validation_context: {
          default_validation_context: {
            match_typed_subject_alt_names: [{ san_type: 'DNS', matcher: { exact: servername } }],
          },
          validation_context_sds_secret_config: sds(setting, 'trust'),
        },
      },
    },
  },
});

/** Name → content of the files in `conf`; `envoy.json` is what Envoy starts with. */
export const filesOf = (setting: EnvoySetting): Readonly<Record<string, string>> => {
  const bootstrap = {
    node: { id: setting.name, cluster: 'field' },
    admin: { address: socket(setting.bind, setting.ports.admin) },
    static_resources: {
      listeners: [mtlsListener(setting), ...plainListeners(setting)],
      clusters: setting.upstreams.map((upstream) => cluster(setting, upstream)),
    },
  };
  const all = { 'envoy.json': bootstrap, ...secretFiles(setting) };
  return Object.fromEntries(Object.entries(all).map(([name, value]) => [name, JSON.stringify(value)]));
};

/** One worker; several Envoys may run side by side. */
export const argumentsFor = (conf: string): readonly string[] => [
  ...['-c', `${conf}/envoy.json`, '--concurrency', '1'],
  ...['--disable-hot-restart', '--log-level', 'warning'],
];
