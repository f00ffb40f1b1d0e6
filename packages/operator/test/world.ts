import type { ControllerEvent } from '@handover/engine';
import { crds } from '@handover/install';
import {
  customResourceDefinitions,
  type Kube,
  type KubeObject,
  namespaces,
  pods,
  type Secret,
  secrets,
} from '@handover/kube';
import type { Clock } from '@handover/material';
import {
  type ApiServer,
  type ApiServerOptions,
  apiServer,
  namespaceObject,
  type TestClock,
} from '@handover/test-api-server';
import { onTestFinished } from 'vitest';
import { RESOURCE_KINDS } from '../src/resources/declared.ts';
import { Operator } from '../src/run/operator.ts';
import type { OperatorOptions } from '../src/run/operator-options.ts';
import { Addresses } from '../src/workloads/addresses.ts';

export interface Status {
  readonly phase?: string;
  readonly generations?: readonly {
    readonly generation: number;
    readonly role: string;
    readonly trustedFor?: readonly string[];
  }[];
  readonly blockedBy?: readonly { readonly consumer: string; readonly waitsFor: string }[];
}

/** Made once: their schemas take longer than most tests. */
const CRDS = crds() as unknown as readonly KubeObject[];
const MESH = 'prod/mesh';
const HOME = 'handover-system';
export const HOT = { 'handover.dev/reload': 'hot' } as const;

/** `prod/mesh` */
export const placeOf = (id: string): { readonly namespace: string; readonly name: string } => {
  const [namespace = '', name = ''] = id.split('/');
  return { namespace, name };
};

const encoded = (files: Readonly<Record<string, string>>): Readonly<Record<string, string>> =>
  Object.fromEntries(
    Object.entries(files).map(([file, text]) => [file, Buffer.from(text).toString('base64')]),
  );

/** The small API server with our CRDs and the namespaces handover-system, prod and what else is asked for. It ends with the test. */
export const clusterOf = async <C extends Clock = TestClock>(
  options: ApiServerOptions<C> = {},
): Promise<ApiServer<C>> => {
  const cluster = await apiServer<C>({
    ...options,
    namespaces: [...new Set([HOME, 'prod', ...(options.namespaces ?? [])])],
  });
  for (const crd of CRDS) await cluster.kube.create(customResourceDefinitions, crd);
  return cluster;
};

/** Such a cluster and an operator, by a clock that the test turns. Most of it is about Authority prod/mesh unless told. */
export class OperatorWorld {
  readonly server: ApiServer['server'];
  readonly kube: Kube;
  readonly clock: ApiServer['clock'];
  readonly events: ControllerEvent[] = [];
  readonly #running = new Set<Promise<unknown>>();
  readonly #end = new AbortController();

  protected constructor({ server, kube, clock }: ApiServer) {
    this.server = server;
    this.kube = kube;
    this.clock = clock;
    onTestFinished(() => this.#close());
  }

  static async open(options: ApiServerOptions = {}): Promise<OperatorWorld> {
    return new OperatorWorld(await clusterOf(options));
  }

  get signal(): AbortSignal {
    return this.#end.signal;
  }

  async #close(): Promise<void> {
    this.#end.abort();
    await this.clock.during(Promise.all(this.#running));
  }

  /** Something else in this world: it ends with the test's signal. */
  protected alongside(work: Promise<unknown>): void {
    this.#running.add(work);
  }

  /** Starts an operator, and returns how to stop it before the test ends. */
  operate(options: Partial<OperatorOptions> = {}): () => Promise<void> {
    const end = new AbortController();
    const { on, ...rest } = options;
    const operator = new Operator({
      kube: this.kube,
      namespace: HOME,
      identity: 'one',
      // Pods of tests have loopback alone.
      pods: { addresses: new Addresses([], []) },
      on: (event) => {
        this.events.push(event);
        on?.(event);
      },
      ...rest,
    });
    const running = operator.run(AbortSignal.any([end.signal, this.signal]));
    this.alongside(running);
    return async () => {
      end.abort();
      await this.clock.during(running);
    };
  }

  get failures(): readonly string[] {
    return this.events.flatMap((event) =>
      event.kind === 'failed' ? [`${event.what}: ${String(event.error)}`] : [],
    );
  }

  /** How many looks at an authority found nothing left to do. */
  rests(authority = MESH): number {
    return this.events.filter((event) => event.kind === 'rested' && event.authority === authority).length;
  }

  namespace(name: string, labels: Readonly<Record<string, string>> = {}): Promise<KubeObject> {
    return this.kube.create(namespaces, namespaceObject(name, labels));
  }

  /** One of our resources. */
  ask(
    kind: keyof typeof RESOURCE_KINDS,
    id: string,
    spec: object,
    annotations: Readonly<Record<string, string>> = {},
  ): Promise<KubeObject> {
    const metadata = id.includes('/') ? { ...placeOf(id), annotations } : { name: id, annotations };
    const object = { apiVersion: 'handover.dev/v1alpha1', kind, metadata, spec } as KubeObject;
    return this.kube.create(RESOURCE_KINDS[kind], object);
  }

  authority(spec: object = {}, id = MESH): Promise<KubeObject> {
    return this.ask('Authority', id, spec);
  }

  /** For the name `<name>.<namespace>.svc`. */
  leaf(id: string, more: object = {}): Promise<KubeObject> {
    const { namespace, name } = placeOf(id);
    return this.ask('Leaf', id, { authority: 'mesh', dnsNames: [`${name}.${namespace}.svc`], ...more });
  }

  putSecret(
    id: string,
    files: Readonly<Record<string, string>>,
    labels: Readonly<Record<string, string>> = {},
  ): Promise<Secret> {
    const type = 'tls.key' in files ? 'kubernetes.io/tls' : 'Opaque';
    const metadata = { ...placeOf(id), labels };
    return this.kube.create(secrets, {
      apiVersion: 'v1',
      kind: 'Secret',
      type,
      metadata,
      data: encoded(files),
    });
  }

  secret(id: string): Promise<Secret | undefined> {
    return this.kube.get(secrets, placeOf(id));
  }

  /** What a Secret has in a file, as text. */
  async held(id: string, file = 'tls.crt'): Promise<string | undefined> {
    const text = (await this.secret(id))?.data?.[file];
    return text === undefined ? undefined : Buffer.from(text, 'base64').toString();
  }

  /** Waits for a Secret's certificate. */
  issued(id: string, patience?: number): Promise<string> {
    return this.until(() => this.held(id), `a certificate in Secret ${id}`, patience);
  }

  /** A running pod that mounts this Secret of its namespace. */
  async pod(
    id: string,
    secretName: string,
    annotations: Readonly<Record<string, string>> = HOT,
  ): Promise<void> {
    await this.kube.create(pods, {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { ...placeOf(id), annotations },
      spec: {
        containers: [{ name: 'main', volumeMounts: [{ name: 'tls', mountPath: '/tls' }] }],
        volumes: [{ name: 'tls', secret: { secretName } }],
      },
    } as KubeObject);
    const status = { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] };
    await this.kube.patch(pods, { ...placeOf(id), subresource: 'status' }, { merge: { status } });
  }

  /** Turns time until the look finds something. */
  async until<T>(look: () => Promise<T | undefined>, what: string, patience = 45_000): Promise<T> {
    try {
      return (await this.clock.until(look, patience)) as T;
    } catch (error) {
      const said = [JSON.stringify(await this.status()), ...new Set(this.failures)];
      throw new Error(`waited in vain for ${what}; ${said.slice(0, 4).join('; ')}`, { cause: error });
    }
  }

  async status(id = MESH): Promise<Status> {
    const found = await this.kube.get(RESOURCE_KINDS.Authority, placeOf(id));
    return ((found as { status?: Status } | undefined)?.status ?? {}) as Status;
  }

  annotate(name: string, value: string, id = MESH): Promise<KubeObject> {
    const merge = { metadata: { annotations: { [name]: value } } };
    return this.kube.patch(RESOURCE_KINDS.Authority, placeOf(id), { merge });
  }

  async rotate(name = 'one'): Promise<KubeObject> {
    // Dates of the API server are whole seconds: what came in the same second as the new CA may have come after it.
    await this.clock.advance(1_000);
    return this.annotate('handover.dev/rotate', name);
  }

  /** Generation `number` alone is left. */
  retired(number: number, patience?: number): Promise<unknown> {
    const isAlone = async (): Promise<unknown> => {
      const all = (await this.status()).generations ?? [];
      return all.length === 1 && all[0]?.generation === number ? all : undefined;
    };
    return this.until(isAlone, `generation ${number} alone`, patience);
  }

  /** The rotation is over, and the CA before stays trusted without its key, for this. */
  retained(reason: string, patience?: number): Promise<unknown> {
    const isRetained = async (): Promise<unknown> => {
      const { phase, generations = [] } = await this.status();
      const old = generations.find(({ role }) => role === 'retained');
      return (phase === 'Stable' && old?.trustedFor?.includes(reason)) || undefined;
    };
    return this.until(isRetained, `a CA that stays trusted for ${reason}`, patience);
  }

  /** What the rotation waits for, a line each. */
  async blockers(): Promise<readonly string[]> {
    return ((await this.status()).blockedBy ?? []).map((one) => `${one.consumer}: ${one.waitsFor}`);
  }

  blocker(says: RegExp, patience?: number): Promise<string> {
    const look = async (): Promise<string | undefined> =>
      (await this.blockers()).find((line) => says.test(line));
    return this.until(look, `a blocker like ${says}`, patience);
  }
}
