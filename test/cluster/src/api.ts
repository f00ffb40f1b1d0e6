import type { Base } from './image/bases.ts';
import type { ImageSpec } from './image/image.ts';
import type { CertificateFiles } from './pki.ts';

export type Size = 'control-plane' | 'node';

export interface ClusterOptions {
  /** Default `control-plane`: etcd and kube-apiserver, ready in seconds. `node` adds a node that runs pods. */
  readonly size?: Size;
  /** With size `node`: how many; default 1. They share one network, and each image is loaded into all of them. */
  readonly nodes?: number;
  /** Default: only with a node. Without it there are no ServiceAccounts, garbage collection or Deployments. */
  readonly controllerManager?: boolean;
  /** Default: only with a node. */
  readonly scheduler?: boolean;
  readonly apiServerFlags?: readonly string[];
  readonly controllerManagerFlags?: readonly string[];
  /** Fields of the KubeletConfiguration that override the harness's own, e.g. `{ syncFrequency: '1s' }`. */
  readonly kubelet?: Readonly<Record<string, unknown>>;
  /** Writes audit.log at this level; `cluster.audit()` reads it. Default: none. */
  readonly audit?: 'Metadata' | 'Request' | 'RequestResponse';
  /** With a name the cluster outlives this process: `cluster up`. */
  readonly name?: string;
  /** Keeps the directory, with every log, when the cluster ends. Default false. */
  readonly keepDirectory?: boolean;
  /** Progress of building binaries. Default: standard error. */
  readonly say?: (line: string) => void;
}

export interface ApiServer {
  /** Undefined while it is down. */
  readonly pid: number | undefined;
  /** Default SIGKILL: a crash. SIGTERM ends it gracefully, with watches drained. */
  stop(signal?: NodeJS.Signals): Promise<void>;
  /** Starts it again on the same port and data, and waits until it is ready. Flags and certificate stay unless given. */
  start(options?: { readonly flags?: readonly string[]; readonly serving?: CertificateFiles }): Promise<void>;
  /** Kills it and starts it again with this certificate. */
  restartWith(serving: CertificateFiles): Promise<void>;
  /**
   * Makes a new CA and a certificate from it, and restarts. `caFile` then holds the new CA, followed by the old one if
   * `keepOld`. Restarts every other component too: they read their CA once.
   */
  rotateServingCa(options?: { readonly keepOld?: boolean }): Promise<void>;
}

export interface AuditEvent {
  readonly verb: string;
  readonly requestURI: string;
  readonly stage: string;
  readonly user: { readonly username: string };
  readonly userAgent?: string;
  readonly responseStatus?: { readonly code: number };
  readonly requestObject?: unknown;
  readonly responseObject?: unknown;
}

export interface Cluster {
  readonly size: Size;
  /** Logs, certificates and data of this cluster. Removed by `stop()`. */
  readonly directory: string;
  readonly url: string;
  /** Path of an administrator's kubeconfig. It refers to the files below instead of embedding them. */
  readonly kubeconfig: string;
  /** The CAs that clients trust; `apiServer.rotateServingCa` rewrites the file in place. */
  readonly caFile: string;
  readonly clientCert: string;
  readonly clientKey: string;
  readonly apiServer: ApiServer;
  /** The program itself, for long-running commands: `port-forward`, `get --watch`. */
  readonly kubectlPath: string;
  /** Standard output of kubectl as administrator; rejects with its standard error. */
  kubectl(...args: readonly string[]): Promise<string>;
  /** `kubectl apply --server-side` of these objects. */
  apply(...objects: readonly object[]): Promise<void>;
  /** Path of another user's kubeconfig; RBAC decides that user's rights. */
  kubeconfigFor(commonName: string, organizations?: readonly string[]): string;
  /** The events in audit.log so far; empty without the option `audit`. */
  audit(): readonly AuditEvent[];
  /** Ends every process and cleans up. Safe to call twice. */
  stop(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

export interface NodeImage extends Omit<ImageSpec, 'layers'> {
  /** Default `node`: the Node that runs this, with its libraries. */
  readonly base?: Base;
  /** Path in the image → file or folder of this machine. */
  readonly files?: Readonly<Record<string, string>>;
}

/** A node of a cluster, and the cluster's own network: the machine sees neither pods nor nodes. */
export interface TestNode {
  readonly name: string;
  /** The node's address in the cluster's network. */
  readonly address: string;
  /** Before a command line, runs it in the cluster's network, with the machine's files: `[...enter, 'curl', …]`. */
  readonly enter: readonly string[];
  /** Makes an image, loads it into every node's containerd, and returns its name. `localhost/busybox:1` always exists. */
  loadImage(image: NodeImage): Promise<string>;
  /** A port on this machine's loopback that leads to an address inside: `forward('10.244.0.12:8443')`. */
  forward(target: string): Promise<number>;
  /** Makes a port of this machine's loopback reachable inside, on loopback and on the first node's address, by the same number. */
  expose(port: number): Promise<void>;
  /** Kills the kubelet; pods keep running. */
  stopKubelet(): Promise<void>;
  startKubelet(): Promise<void>;
}

export interface NodeCluster extends Cluster {
  readonly size: 'node';
  /** The first one. */
  readonly node: TestNode;
  readonly nodes: readonly TestNode[];
}
