import { readFileSync, readlinkSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import {
  connect,
  createSecureContext,
  createServer,
  type DetailedPeerCertificate,
  type SecureContext,
  type Server,
  type TLSSocket,
} from 'node:tls';
import { type Clock, iso, parseCertificates, type Timer } from '@handover/material';

/** How a service picks up changed files. */
export type Manner =
  | { readonly kind: 'hot' }
  /** Reads its files this long after a change. */
  | { readonly kind: 'slow'; readonly ms: number }
  /** Reads its files only when it starts. */
  | { readonly kind: 'restart-only' };

interface Loaded {
  readonly stamp: string;
  readonly context: SecureContext;
  readonly pem: { readonly cert: string; readonly key: string; readonly ca: string };
}

const LOOK_EVERY_MS = 50;
const TIMEOUT_MS = 10_000;
const DRAIN_MS = 2_000;

/** Where a service can be called. */
export interface Address {
  readonly name: string;
  readonly port: number;
}

/** An mTLS service that serves, and calls the others, with the files it has loaded. */
export interface Running extends Address {
  start(): Promise<void>;
  restart(): Promise<void>;
  /** One full mTLS handshake with another service, and one byte each way; undefined: success. */
  call(other: Address): Promise<string | undefined>;
  /** What it has loaded, in the form of the runtime's status document. */
  status(at: number): Promise<object>;
  stop(): Promise<void>;
}

/** In this thread. */
export class Service implements Running {
  readonly name: string;
  readonly manner: Manner;
  readonly #folder: string;
  readonly #clock: Clock;
  #loaded: Loaded;
  #server: Server | undefined;
  #watcher: Timer | undefined;
  #pending: Timer | undefined;
  readonly #old = new Set<Server>();
  reloads = 0;

  constructor(name: string, manner: Manner, folder: string, clock: Clock) {
    this.name = name;
    this.manner = manner;
    this.#folder = folder;
    this.#clock = clock;
    this.#loaded = this.#read();
  }

  /** Certificate, key and bundle of one snapshot: `..data` is resolved once. */
  #read(): Loaded {
    const stamp = readlinkSync(`${this.#folder}/..data`);
    const file = (name: string): string => readFileSync(`${this.#folder}/${stamp}/${name}`, 'utf8');
    const pem = { cert: file('tls.crt'), key: file('tls.key'), ca: file('ca.crt') };
    return { stamp, pem, context: createSecureContext(pem) };
  }

  async start(): Promise<void> {
    await this.#listen();
    if (this.manner.kind === 'restart-only') return;
    const delay = this.manner.kind === 'slow' ? this.manner.ms : 0;
    this.#watcher = this.#clock.every(LOOK_EVERY_MS, () => {
      if (this.#pending !== undefined || readlinkSync(`${this.#folder}/..data`) === this.#loaded.stamp)
        return;
      this.#pending = this.#clock.after(delay, () => {
        this.#pending = undefined;
        this.#reload();
      });
    });
  }

  #reload(): void {
    this.#loaded = this.#read();
    this.#server?.setSecureContext(this.#loaded.pem);
    this.reloads++;
  }

  async #listen(): Promise<void> {
    const server = createServer(
      { ...this.#loaded.pem, requestCert: true, rejectUnauthorized: true },
      (socket: TLSSocket) => {
        socket.on('error', () => {});
        // A byte for a byte: over TLS 1.3 a client learns only from data that it was accepted.
        socket.once('data', (data) => socket.end(data));
      },
    );
    server.on('tlsClientError', () => {}); // the caller counts it
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject).listen(0, '127.0.0.1', resolve);
    });
    this.#server = server;
  }

  /** Like an orchestrator: starts the new one before it stops the old one. */
  async restart(): Promise<void> {
    const old = this.#server;
    this.#loaded = this.#read();
    await this.#listen();
    this.reloads++;
    // Closing at once would reset calls that the kernel has accepted and the process has not.
    if (old === undefined) return;
    this.#old.add(old);
    this.#clock
      .after(DRAIN_MS, () => {
        this.#old.delete(old);
        old.close();
      })
      .unref();
  }

  get port(): number {
    return (this.#server?.address() as AddressInfo | null)?.port ?? 0;
  }

  call(other: Address): Promise<string | undefined> {
    return new Promise((resolve) => {
      const socket: TLSSocket = connect({
        host: '127.0.0.1',
        port: other.port,
        servername: other.name,
        secureContext: this.#loaded.context,
        rejectUnauthorized: true,
        checkServerIdentity: (name) =>
          socket.getPeerX509Certificate()?.checkHost(name) === undefined
            ? new Error(`not a certificate of ${name}`)
            : undefined,
      });
      // Node would convert the whole chain to plain objects for the check above, which costs a quarter of the handshake: OpenSSL has
      // verified the chain, and checks the name as well.
      socket.getPeerCertificate = () => ({}) as DetailedPeerCertificate;
      const end = (problem: string | undefined): void => {
        timer.cancel();
        socket.removeAllListeners();
        socket.on('error', () => {});
        socket.destroy();
        resolve(problem);
      };
      const timer = this.#clock.after(TIMEOUT_MS, () => end('timeout'));
      socket.on('secureConnect', () => socket.write('x'));
      socket.on('data', () => end(undefined));
      socket.on('error', (error: NodeJS.ErrnoException) => end(error.code ?? error.message));
      socket.on('close', () => end('closed'));
    });
  }

  async status(at: number): Promise<object> {
    const anchors = parseCertificates(this.#loaded.pem.ca).certificates.map(({ fingerprint }) => fingerprint);
    const [leaf] = parseCertificates(this.#loaded.pem.cert).certificates;
    return {
      version: 1,
      at: iso(at),
      pid: process.pid,
      sources: [
        {
          kind: 'identity',
          path: `${this.#folder}/tls.crt`,
          anchors,
          leaf: { fingerprint: leaf?.fingerprint, issuerKeyId: leaf?.authorityKeyId },
        },
      ],
    };
  }

  async stop(): Promise<void> {
    this.#watcher?.cancel();
    this.#pending?.cancel();
    this.#server?.close();
    for (const old of this.#old) old.close();
  }
}
