import { request as httpsRequest } from 'node:https';
import { dirname } from 'node:path';
import { type Duplex, Readable } from 'node:stream';
import * as grpc from '@grpc/grpc-js';
import { request as undiciRequest } from 'undici';
import { credentials, serverCredentials } from '../src/grpc.ts';
import {
  type FollowOptions,
  type Identity,
  openIdentity,
  openTrust,
  type TrustOptions,
} from '../src/index.ts';
import { hotKubeConfig, inCluster } from '../src/kubernetes.ts';
import { loadClientNode1, loadClientNode2 } from './client-node.ts';
import type { Leaf, MockCa } from './mock-ca.ts';
import { Volume } from './volume.ts';
import { get, httpsServer, type Target } from './world.ts';

export interface Stream {
  /** Events so far. */
  count(): number;
  /** Resolves at its proper end. */
  readonly ended: Promise<void>;
}

export interface Client {
  get(target: Target): Promise<unknown>;
  /** The same, where `get` shares one connection: over one of its own. */
  getAnew?(target: Target): Promise<unknown>;
  stream(target: Target): Promise<Stream>;
}

export interface Adapter {
  readonly name: string;
  serve(ca: MockCa): Promise<Target>;
  open(caFile: string, options: TrustOptions): Promise<Client>;
}

function streamOf(readable: Readable): Stream {
  let count = 0;
  let text = '';
  const ended = new Promise<void>((resolve, reject) => {
    readable.on('data', (chunk: Buffer) => {
      count++;
      text += chunk.toString();
    });
    readable.on('error', reject);
    readable.on('close', () => (text.includes('"END"') ? resolve() : reject(new Error('cut off'))));
  });
  ended.catch(() => undefined);
  return { count: () => count, ended };
}

const overHttps: Adapter = {
  name: 'node:https',
  serve: httpsServer,
  open: async (caFile, options) => {
    const agent = (await openTrust(caFile, options)).httpsAgent();
    return {
      get: (target) => get(target.url, { agent }),
      stream: (target) =>
        new Promise((resolve, reject) => {
          httpsRequest(`${target.url}/watch`, { agent }, (response) => resolve(streamOf(response)))
            .on('error', reject)
            .end();
        }),
    };
  },
};

const overUndici: Adapter = {
  name: 'undici',
  serve: httpsServer,
  open: async (caFile, options) => {
    const dispatcher = (await openTrust(caFile, options)).dispatcher();
    return {
      get: async (target) => (await undiciRequest(target.url, { dispatcher })).body.text(),
      stream: async (target) =>
        streamOf((await undiciRequest(`${target.url}/watch`, { dispatcher })).body as unknown as Duplex),
    };
  },
};

const overFetch: Adapter = {
  name: 'fetch',
  serve: httpsServer,
  open: async (caFile, options) => {
    const trust = await openTrust(caFile, options);
    return {
      get: async (target) => (await trust.fetch(target.url)).text(),
      stream: async (target) => {
        const { body } = await trust.fetch(`${target.url}/watch`);
        return streamOf(Readable.fromWeb(body as never));
      },
    };
  },
};

const bytes = (value: Buffer): Buffer => value;
const method = (name: string, responseStream: boolean) => ({
  path: `/test.Echo/${name}`,
  requestStream: false,
  responseStream,
  requestSerialize: bytes,
  requestDeserialize: bytes,
  responseSerialize: bytes,
  responseDeserialize: bytes,
});
export const ECHO = { get: method('Get', false), watch: method('Watch', true) };

export async function grpcServer(
  ca: MockCa,
  clientCa?: string,
  options: FollowOptions = {},
): Promise<Omit<Target, 'use'> & { use(leaf: Leaf, clientCa?: string): void }> {
  const contentOf = ({ cert, key }: Leaf, trusted: string | undefined) => ({
    'tls.crt': cert,
    'tls.key': key,
    ...(trusted === undefined ? {} : { 'ca.crt': trusted }),
  });
  const volume = new Volume(contentOf(ca.leaf(), clientCa));
  const stop = new AbortController();
  const identity = await openIdentity(
    {
      cert: volume.path('tls.crt'),
      key: volume.path('tls.key'),
      ...(clientCa === undefined ? {} : { ca: volume.path('ca.crt') }),
    },
    { signal: stop.signal, ...options },
  );
  const target = await grpcListen(identity);
  return {
    ...target,
    use: (leaf, trusted = clientCa) => {
      volume.write(contentOf(leaf, trusted));
      void identity.reload(); // the client is on trial, not the server's watch
    },
    close: async () => {
      await target.close();
      stop.abort();
      volume.remove();
    },
  };
}

/** A gRPC server of that identity. */
export async function grpcListen(identity: Identity): Promise<Omit<Target, 'use'>> {
  const server = new grpc.Server();
  const streams = new Set<() => void>();
  let handshakes = 0;
  const peers = new Set<string>();
  server.addService(ECHO, {
    get: (call: grpc.ServerUnaryCall<Buffer, Buffer>, done: grpc.sendUnaryData<Buffer>) => {
      if (!peers.has(call.getPeer())) handshakes++;
      peers.add(call.getPeer());
      done(null, call.request);
    },
    watch: (call: grpc.ServerWritableStream<Buffer, Buffer>) => {
      const timer = setInterval(() => call.write(Buffer.from('event')), 5);
      const end = () => {
        clearInterval(timer);
        streams.delete(end);
        call.write(Buffer.from('"END"'));
        call.end();
      };
      streams.add(end);
      call.on('cancelled', () => clearInterval(timer));
    },
  });
  let port = 0;
  const bind = (where: string) =>
    new Promise<number>((resolve, reject) => {
      server.bindAsync(where, serverCredentials(identity), (error, bound) =>
        error === null ? resolve(bound) : reject(error),
      );
    });
  port = await bind('127.0.0.1:0');
  return {
    port,
    url: `localhost:${port}`,
    handshakes: () => handshakes,
    cut: () => server.drain(`127.0.0.1:${port}`, 0),
    endStreams: () => {
      for (const end of [...streams]) end();
    },
    close: async () => server.forceShutdown(),
  };
}

const Echo = grpc.makeGenericClientConstructor(ECHO, 'Echo');

type EchoClient = grpc.Client & {
  get(request: Buffer, done: (error: Error | null, value?: Buffer) => void): void;
  watch(request: Buffer): Readable;
};

export const echoClient = (
  target: Pick<Target, 'url'>,
  channel: grpc.ChannelCredentials,
  options: grpc.ChannelOptions = {},
): EchoClient =>
  new Echo(target.url, channel, {
    ...options,
    // a channel that has failed waits before it connects again; not for a second in a test
    'grpc.initial_reconnect_backoff_ms': 50,
    'grpc.min_reconnect_backoff_ms': 50,
    'grpc.max_reconnect_backoff_ms': 50,
  }) as unknown as EchoClient;

export const echo = (client: EchoClient): Promise<unknown> =>
  new Promise((resolve, reject) => {
    client.get(Buffer.from('hello'), (error, value) => (error === null ? resolve(value) : reject(error)));
  });

const overGrpc: Adapter = {
  name: 'gRPC',
  serve: (ca) => grpcServer(ca),
  open: async (caFile, options) => {
    const channel = credentials(await openTrust(caFile, options));
    const clients = new Map<Target, EchoClient>();
    const clientFor = (target: Target): EchoClient => {
      const client = clients.get(target) ?? echoClient(target, channel);
      clients.set(target, client);
      return client;
    };
    options.signal?.addEventListener('abort', () => {
      for (const client of clients.values()) client.close();
    });
    return {
      get: (target) => echo(clientFor(target)),
      getAnew: async (target) => {
        const client = echoClient(target, channel, { 'grpc.use_local_subchannel_pool': 1 });
        return echo(client).finally(() => client.close());
      },
      stream: async (target) => streamOf(clientFor(target).watch(Buffer.from('go'))),
    };
  },
};

const overClientNode = (name: string, load: typeof loadClientNode1): Adapter => ({
  name,
  serve: httpsServer,
  open: async (caFile, { verify = true, ...options }) => {
    const { CoreV1Api, KubeConfig, Watch } = await load();
    const configs = new Map<Target, Promise<InstanceType<typeof KubeConfig>>>();
    const configFor = (target: Target) => {
      const kc = new KubeConfig();
      kc.loadFromClusterAndUser(
        { name: 'c', server: target.url, caFile, skipTLSVerify: !verify },
        { name: 'u' },
      );
      const known = configs.get(target) ?? hotKubeConfig(kc, options);
      configs.set(target, known);
      return known;
    };
    return {
      get: async (target) =>
        (await configFor(target)).makeApiClient(CoreV1Api).listNamespacedPod({ namespace: 'default' }),
      stream: async (target) => {
        const watch = new Watch(await configFor(target));
        let count = 0;
        let last = '';
        const ended = new Promise<void>((resolve, reject) => {
          watch
            .watch(
              '/api/v1/pods',
              {},
              (type) => {
                count++;
                last = type;
              },
              (error) => (last === 'END' ? resolve() : reject(error ?? new Error('cut off'))),
            )
            .catch(reject);
        });
        ended.catch(() => undefined);
        return { count: () => count, ended };
      },
    };
  },
});

/** Verifies always, and follows the `token` beside the bundle. */
const overInCluster: Adapter = {
  name: 'inCluster()',
  serve: httpsServer,
  open: async (caFile, { verify: _verify, ...options }) => {
    const opened = new Map<Target, ReturnType<typeof inCluster>>();
    const clusterOf = (target: Target) => {
      const env = { KUBERNETES_SERVICE_HOST: 'localhost', KUBERNETES_SERVICE_PORT: String(target.port) };
      const known = opened.get(target) ?? inCluster({ directory: dirname(caFile), env, ...options });
      opened.set(target, known);
      return known;
    };
    return {
      get: async (target) => (await (await clusterOf(target)).fetch('/api')).text(),
      stream: async (target) => {
        const { body } = await (await clusterOf(target)).fetch('/api?watch');
        return streamOf(Readable.fromWeb(body as never));
      },
    };
  },
};

/** Clients that may be told not to verify. */
export const ADAPTERS: readonly Adapter[] = [
  overHttps,
  overUndici,
  overFetch,
  overGrpc,
  overClientNode('client-node 1', loadClientNode1),
  overClientNode('client-node 2', loadClientNode2),
];

export const EVERY_CLIENT: readonly Adapter[] = [...ADAPTERS, overInCluster];
