import { CERT_MANAGER, ISSUER } from '@handover/core';
import type { ControllerEvent } from '@handover/engine';
import { crds } from '@handover/install';
import { connect, customResourceDefinitions, type Kube, type KubeObject, namespaces } from '@handover/kube';
import { FakeApiServer } from '@handover/test-api-server';
import { certificates } from '../../src/cert-manager/kinds.ts';
import { RESOURCE_KINDS } from '../../src/resources/kinds.ts';
import { Operator } from '../../src/run/operator.ts';
import { Addresses } from '../../src/workloads/addresses.ts';
import { installCertManagerCrds, PlayedCertManager } from './played.ts';

export interface Status {
  readonly generations?: readonly { readonly generation: number; readonly role: string }[];
  readonly blockedBy?: readonly { readonly consumer: string; readonly waitsFor: string }[];
}

const MESH = { namespace: 'prod', name: 'mesh' } as const;

/** An operator with the API of cert-manager, on the small API server, and an Authority prod/mesh. */
export class CertManagerWorld {
  readonly server: FakeApiServer;
  readonly kube: Kube;
  readonly failures: string[] = [];
  readonly #running: Promise<unknown>[] = [];
  readonly #end = new AbortController();

  private constructor(server: FakeApiServer) {
    this.server = server;
    this.kube = connect(server.config, { signal: new AbortController().signal, rate: false });
  }

  static async open(): Promise<CertManagerWorld> {
    const world = new CertManagerWorld(await FakeApiServer.start());
    const { kube } = world;
    for (const crd of crds()) await kube.create(customResourceDefinitions, crd as unknown as KubeObject);
    await installCertManagerCrds(kube);
    for (const name of ['handover-system', 'prod', 'team'])
      await kube.create(namespaces, { apiVersion: 'v1', kind: 'Namespace', metadata: { name } });
    return world;
  }

  get signal(): AbortSignal {
    return this.#end.signal;
  }

  async close(): Promise<void> {
    this.#end.abort();
    await Promise.all(this.#running);
    await this.server.stop();
  }

  operate(): void {
    const operator = new Operator({
      kube: this.kube,
      namespace: 'handover-system',
      identity: 'one',
      pods: { addresses: new Addresses([], []) },
      on: (event: ControllerEvent) => {
        if (event.kind === 'failed') this.failures.push(`${event.what}: ${String(event.error)}`);
      },
    });
    this.#running.push(operator.run(this.signal));
  }

  play(): PlayedCertManager {
    const played = new PlayedCertManager(this.kube, ({ metadata }) => ({
      dnsNames: [`web.${metadata.namespace}.svc`],
    }));
    this.#running.push(played.run(this.signal));
    return played;
  }

  /** From now on, requests to cert-manager's API that `when` chooses fail, `times` times. */
  breakApi(status: number, times = 1e9, when: (method: string) => boolean = () => true): void {
    this.server.faults.add({
      when: ({ method, path }) => path.startsWith('/apis/cert-manager.io/v1') && when(method),
      times,
      status,
      reason: 'InternalError',
    });
  }

  authority(spec: object = {}): Promise<KubeObject> {
    return this.kube.create(RESOURCE_KINDS.Authority, {
      apiVersion: 'handover.dev/v1alpha1',
      kind: 'Authority',
      metadata: MESH,
      spec: { rotation: { reloadWithin: '1s' }, ...spec },
    } as KubeObject);
  }

  certificate(
    namespace: string,
    name: string,
    annotations: Record<string, string> = {},
  ): Promise<KubeObject> {
    return this.kube.create(certificates, {
      apiVersion: CERT_MANAGER.apiVersion,
      kind: 'Certificate',
      metadata: { namespace, name, annotations },
      spec: { secretName: name, issuerRef: { ...ISSUER, name: 'prod/mesh' } },
    });
  }

  async until<T>(look: () => Promise<T | undefined>, what: string, patience = 45_000): Promise<T> {
    for (const began = performance.now(); performance.now() - began < patience; ) {
      const found = await look();
      if (found !== undefined) return found;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    const said = [JSON.stringify(await this.status()), ...new Set(this.failures)];
    throw new Error(`waited in vain for ${what}; ${said.slice(0, 4).join('; ')}`);
  }

  async status(): Promise<Status> {
    const found = await this.kube.get(RESOURCE_KINDS.Authority, MESH);
    return ((found as { status?: Status } | undefined)?.status ?? {}) as Status;
  }

  annotate(name: string, value: string): Promise<KubeObject> {
    const merge = { metadata: { annotations: { [name]: value } } };
    return this.kube.patch(RESOURCE_KINDS.Authority, MESH, { merge });
  }

  /** Generation `number` alone is left. */
  retired(number: number, patience = 45_000): Promise<unknown> {
    const isAlone = async (): Promise<unknown> => {
      const all = (await this.status()).generations ?? [];
      return all.length === 1 && all[0]?.generation === number ? all : undefined;
    };
    return this.until(isAlone, `generation ${number} alone`, patience);
  }

  blocker(says: RegExp): Promise<string> {
    return this.until(async () => {
      const said = ((await this.status()).blockedBy ?? []).map((one) => `${one.consumer}: ${one.waitsFor}`);
      return said.find((line) => says.test(line));
    }, `a blocker like ${says}`);
  }
}
