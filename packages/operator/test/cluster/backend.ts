import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer, type Server } from 'node:https';
import { type AddressInfo, connect, createServer as createTcpServer, type Socket } from 'node:net';
import { GROUP_PATH } from './packaging.ts';

/** A server that is an aggregated API, an admission webhook and a conversion webhook; every request needs its own handshake. */
export class Backend {
  readonly server: Server;
  /** Handshakes that were followed by a request: the API server's. */
  handshakes = 0;
  /** Handshakes that the caller aborted because of the certificate. */
  broken: string[] = [];

  constructor() {
    // HTTP/1.1 only, and no connection twice.
    this.server = createServer({}, (request, response) => {
      this.handshakes++;
      void answer(request, response);
    });
    this.server.on('tlsClientError', ({ message }) => {
      // A caller that only closes the connection has not judged the certificate.
      if (/alert/.test(message)) this.broken.push(message);
    });
  }

  async listen(): Promise<number> {
    await new Promise<void>((resolve) => this.server.listen(0, '127.0.0.1', resolve));
    return (this.server.address() as AddressInfo).port;
  }

  async close(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }
}

const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
  let text = '';
  for await (const chunk of request) text += String(chunk);
  const body = bodyFor(request.url ?? '', text);
  response.writeHead(200, { 'content-type': 'application/json', connection: 'close' });
  response.end(JSON.stringify(body));
};

interface Thing {
  readonly apiVersion: string;
  readonly spec?: { readonly size?: string; readonly metres?: number };
}

/** `things` of v1 have a size in words of people, those of v2 have metres. */
const toVersion = (apiVersion: string, thing: Thing): Thing => {
  const { size = `${thing.spec?.metres} m`, metres = Number.parseFloat(size) } = thing.spec ?? {};
  return { ...thing, apiVersion, spec: apiVersion.endsWith('/v1') ? { size } : { metres } };
};

const converted = (text: string): unknown => {
  const { kind, request } = JSON.parse(text) as {
    readonly kind: string;
    readonly request: { uid: string; desiredAPIVersion: string; objects: readonly Thing[] };
  };
  const { uid, desiredAPIVersion, objects } = request;
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind,
    response: {
      uid,
      result: { status: 'Success' },
      convertedObjects: objects.map((thing) => toVersion(desiredAPIVersion, thing)),
    },
  };
};

const bodyFor = (url: string, text: string): unknown => {
  if (url.startsWith('/convert')) return converted(text);
  if (url.startsWith('/admit')) {
    const review = JSON.parse(text) as { request: { uid: string } };
    return {
      apiVersion: 'admission.k8s.io/v1',
      kind: 'AdmissionReview',
      response: { uid: review.request.uid, allowed: true },
    };
  }
  if (url.startsWith(`${GROUP_PATH}/hello`)) return { hello: 'world' };
  return {
    kind: 'APIResourceList',
    apiVersion: 'v1',
    groupVersion: 'data.packaging.carvel.dev/v1alpha1',
    resources: [],
  };
};

/** As a Service does: one address for several servers in turn. */
export class Balancer {
  targets: readonly number[] = [];
  readonly #server = createTcpServer((socket) => this.#pass(socket));
  readonly #open = new Set<Socket>();
  #turn = 0;

  async listen(): Promise<number> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
    return (this.#server.address() as AddressInfo).port;
  }

  #pass(socket: Socket): void {
    const port = this.targets[this.#turn++ % this.targets.length];
    this.#open.add(socket);
    socket.on('close', () => this.#open.delete(socket));
    socket.on('error', () => undefined);
    if (port === undefined) {
      socket.destroy();
      return;
    }
    const inner = connect(port, '127.0.0.1');
    inner.on('error', () => socket.destroy());
    socket.on('error', () => inner.destroy());
    socket.on('close', () => inner.destroy());
    socket.pipe(inner).pipe(socket);
  }

  async close(): Promise<void> {
    for (const socket of this.#open) socket.destroy();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}
