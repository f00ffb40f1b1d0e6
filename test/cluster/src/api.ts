import type { Base } from './image/bases.ts';
import type { ImageSpec } from './image/image.ts';
import type { CertificateFiles } from './pki.ts';

export type Size = 'control-plane' | 'node';

export interface ClusterOptions {
  /** Default `control-plane`: etcd and kube-apiserver, ready in seconds. `node` adds a node that runs pods. */
  readonly size?: Size;
  /** With size `node`: how many; default 1. They share one network, and each image is loaded into all of them. */
  readonly nodes?: number;
  /** Default: only with a node. Without it no ServiceAccounts, no garbage collection, no Deployments. */
  readonly controllerManager?: boolean;
  /** Default: only with a node. */
  readonly scheduler?: boolean;
  readonly apiServerFlags?: readonly string[];
  readonly controllerManagerFlags?: readonly string[];
  /** Fields of the KubeletConfiguration over the harness's own, e.g. `{ syncFrequency: '1s' }`. */
  readonly kubelet?: Readonly<Record<string, unknown>>;
  /** Writes audit.log at this level; `cluster.audit()` reads it. Default: none. */
  readonly audit?: 'Metadata' | 'Request' | 'RequestResponse';
  /** With a name the cluster outlives this process: `cluster up`. */
  readonly name?: string;
  /** Keeps the directory, with every log, when the cluster goes. Default false. */
  readonly keepDirectory?: boolean;
  /** Progress of building binaries. Default: standard error. */
  readonly say?: (line: string) => void;
}

export interface ApiServer {
  /** Undefined while it is down. */
  readonly pid: number | undefined;
  /** Default SIGKILL: a crash. SIGTERM ends it in its own time, watches drained. */
  stop(signal?: NodeJS.Signals): Promise<void>;
  /** Up again on the same port and data, and ready. Flags and certificate stay as they were last unless given. */
  start(options?: { readonly flags?: readonly string[]; readonly serving?: CertificateFiles }): Promise<void>;
  /** Killed and started again with this certificate. */
  restartWith(serving: CertificateFiles): Promise<void>;
  /**
   * A new CA and a certificate from it, and a restart. `caFile` then holds the new CA, and the old one after it if
   * `keepOld`. Every other component is restarted too: they read their CA once.
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
  /** Everything about this cluster: logs, certificates, data. Gone after `stop()`. */
  readonly directory: string;
  readonly url: string;
  /** Path of an administrator's kubeconfig. It names the files below rather than holding their content. */
  readonly kubeconfig: string;
  /** What clients trust; `apiServer.rotateServingCa` rewrites it in place. */
  readonly caFile: string;
  readonly clientCert: string;
  readonly clientKey: string;
  readonly apiServer: ApiServer;
  /** The program itself, for what goes on: `port-forward`, `get --watch`. */
  readonly kubectlPath: string;
  /** Standard output of kubectl as administrator; rejects with what it said on standard error. */
  kubectl(...args: readonly string[]): Promise<string>;
  /** `kubectl apply --server-side` of these objects. */
  apply(...objects: readonly object[]): Promise<void>;
  /** Path of another user's kubeconfig; what that user may do is RBAC's affair. */
  kubeconfigFor(commonName: string, organizations?: readonly string[]): string;
  /** What audit.log holds so far; empty without the option `audit`. */
  audit(): readonly AuditEvent[];
  /** Ends every process and clears away. May be called twice. */
  stop(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

export interface NodeImage extends Omit<ImageSpec, 'layers'> {
  /** Default `node`: the Node that runs this, with its libraries. */
  readonly base?: Base;
  /** Path in the image → file or folder of this machine. */
  readonly files?: Readonly<Record<string, string>>;
}

/** A node of a cluster, and the nodes' network, which is the cluster's own: pods and node are not seen from the machine. */
export interface TestNode {
  readonly name: string;
  /** Of the node, inside. */
  readonly address: string;
  /** Before a command line, runs it in the cluster's network, with the machine's files: `[...enter, 'curl', …]`. */
  readonly enter: readonly string[];
  /** Makes an image and loads it into every node's containerd; gives its name. `localhost/busybox:1` is there from the start. */
  loadImage(image: NodeImage): Promise<string>;
  /** A port on this machine's loopback that leads to an address inside: `forward('10.244.0.12:8443')`. */
  forward(target: string): Promise<number>;
  /** Makes a port of this machine's loopback reachable inside, on loopback and on the first node's address, by the same number. */
  expose(port: number): Promise<void>;
  /** The kubelet killed; pods go on. */
  stopKubelet(): Promise<void>;
  startKubelet(): Promise<void>;
}

export interface NodeCluster extends Cluster {
  readonly size: 'node';
  /** The first one. */
  readonly node: TestNode;
  readonly nodes: readonly TestNode[];
}
