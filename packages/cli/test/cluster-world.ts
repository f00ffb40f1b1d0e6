import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Kube, KubeObject } from '@handover/kube';
import { RESOURCE_KINDS } from '@handover/operator';
import {
  type ApiServer,
  type ApiServerOptions,
  apiServer,
  type FakeApiServer,
  type TestClock,
  temporaryFolder,
} from '@handover/test-api-server';
// Read before a test begins, as much as most tests here need: commands read their modules when they are run.
import '../src/commands/operator.ts';
import '../src/commands/status.ts';
import '../src/kubernetes/open-home.ts';
import { goOn, handover, type Live, type Ran } from './capture.ts';

export interface ClusterWorldOptions extends ApiServerOptions {
  /** Of the operator. */
  readonly namespace?: string;
}

/** The small API server with our kinds, a kubeconfig for it, and commands that work on it by one clock. It ends with the test. */
export class ClusterWorld {
  readonly server: FakeApiServer;
  readonly kube: Kube;
  readonly clock: TestClock;
  readonly folder = temporaryFolder();
  readonly kubeconfig = join(this.folder, 'kubeconfig');
  readonly #namespace: string;

  private constructor({ server, kube, clock }: ApiServer, namespace: string) {
    this.server = server;
    this.kube = kube;
    this.clock = clock;
    this.#namespace = namespace;
    writeFileSync(
      this.kubeconfig,
      JSON.stringify({
        clusters: [{ name: 'x', cluster: { server: server.url } }],
        contexts: [{ name: 'x', context: { cluster: 'x', user: 'x' } }],
        users: [{ name: 'x', user: {} }],
        'current-context': 'x',
      }),
    );
  }

  static async open({ namespace = 'default', ...options }: ClusterWorldOptions = {}): Promise<ClusterWorld> {
    const cluster = await apiServer(options);
    for (const kind of Object.values(RESOURCE_KINDS)) cluster.server.serve(kind);
    return new ClusterWorld(cluster, namespace);
  }

  /** `handover operator`, until the test is over. */
  operate(...flags: readonly string[]): Live {
    return goOn(
      [
        ...['operator', '--kubeconfig', this.kubeconfig, '--namespace', this.#namespace],
        ...['--health-address', '127.0.0.1:0', '--dashboard-address', '0', ...flags],
      ],
      { clock: this.clock },
    );
  }

  get #home(): readonly string[] {
    return ['--home', 'kube', '--kubeconfig', this.kubeconfig, '--operator-namespace', this.#namespace];
  }

  /** A command on this cluster, until it ends. */
  runs(...args: readonly string[]): Promise<Ran> {
    return this.clock.during(handover([...args, ...this.#home], { clock: this.clock }));
  }

  /** A command on this cluster that goes on. */
  goesOn(...args: readonly string[]): Live {
    return goOn([...args, ...this.#home], { clock: this.clock });
  }

  /** Turns time until a look at the world fails no expectation, for a minute at most. */
  async soon<T>(look: () => T | Promise<T>): Promise<T> {
    const seen: { last?: { readonly is: T }; error?: unknown } = {};
    const isSo = async (): Promise<boolean> => {
      try {
        seen.last = { is: await look() };
        return true;
      } catch (error) {
        seen.error = error;
        return false;
      }
    };
    await this.clock.until(isSo, 60_000).catch(() => {
      throw seen.error;
    });
    return (seen.last as { readonly is: T }).is;
  }

  /** One of our resources, `namespace/name`. */
  ask(kind: 'Authority' | 'Leaf', id: string, spec: object, fieldManager = 'kubectl'): Promise<KubeObject> {
    const [namespace = '', name = ''] = id.split('/');
    const metadata = { namespace, name };
    const object = { apiVersion: 'handover.dev/v1alpha1', kind, metadata, spec } as KubeObject;
    return this.kube.create(RESOURCE_KINDS[kind], object, { fieldManager });
  }

  authority(id: string, spec: object = {}): Promise<KubeObject> {
    return this.ask('Authority', id, spec);
  }

  /** For the name `<name>.<namespace>.svc`. */
  leaf(id: string, authority: string): Promise<KubeObject> {
    const [namespace, name] = id.split('/');
    return this.ask('Leaf', id, { authority, dnsNames: [`${name}.${namespace}.svc`] });
  }
}
