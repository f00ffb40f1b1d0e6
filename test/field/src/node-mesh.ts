import type { RotationStage } from '../../../packages/operator/test/rotation/stage.ts';
import { nodePart } from '../envoy/pods.ts';
import { rolledOut } from './program-pod.ts';

/** A pod of the mesh's own program (packages/operator/test/rotation/pod). Its Secret has its name. */
export interface MeshPod {
  readonly setting: Readonly<Record<string, unknown>>;
  readonly annotations?: Readonly<Record<string, string>>;
  /** Key and certificate come from this signer of PodCertificateRequests instead of the Secret. */
  readonly signer?: string;
}

interface MeshOptions {
  readonly namespace: string;
  /** The ConfigMap that gives ca.crt. */
  readonly trust: string;
  /** Calls per second of each pod, over all its directions. */
  readonly rate: number;
}

/** Pods with mTLS, each of which calls all others. */
export class NodeMesh<Name extends string> {
  readonly namespace: string;
  readonly names: readonly Name[];
  readonly directions: readonly string[];
  readonly #pods: Readonly<Record<Name, MeshPod>>;
  readonly #options: MeshOptions;

  constructor(pods: Readonly<Record<Name, MeshPod>>, options: MeshOptions) {
    this.namespace = options.namespace;
    this.names = Object.keys(pods) as Name[];
    this.directions = this.names.flatMap((from) => this.#without(from).map((to) => `${from} → ${to}`));
    this.#pods = pods;
    this.#options = options;
  }

  /** Starts all pods; their Secrets and the ConfigMap exist. */
  async start(stage: RotationStage): Promise<void> {
    for (const name of this.names) await stage.cluster.apply(...this.#objectsOf(name, stage));
    await rolledOut(stage.cluster, this.namespace, this.names);
  }

  #without(name: Name): readonly Name[] {
    return this.names.filter((other) => other !== name);
  }

  #addressOf(name: Name): string {
    return `10.96.0.${90 + this.names.indexOf(name)}`;
  }

  #objectsOf(name: Name, { image, collectorUrl: collector }: RotationStage): readonly object[] {
    const { namespace, trust, rate } = this.#options;
    const { setting, ...pod }: MeshPod = this.#pods[name];
    const targets = this.#without(name).map((other) => ({
      name: other,
      address: `${this.#addressOf(other)}:8443`,
      servername: `${other}.${namespace}.svc`,
    }));
    return nodePart({
      ...{ namespace, name, address: this.#addressOf(name), secret: name, trust, image },
      ...pod,
      setting: { ...setting, rate, targets, collector },
    });
  }
}
