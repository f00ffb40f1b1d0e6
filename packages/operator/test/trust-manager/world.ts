import { createHash, randomBytes } from 'node:crypto';
import { generateKey, issueCa, localSigner, TRUST_MANAGER } from '@handover/core';
import {
  type ConfigMap,
  configMaps,
  type Kube,
  type KubeObject,
  kindOf,
  namespaces,
  type Secret,
  secrets,
} from '@handover/kube';
import { hour, type Instant, instant, parseCertificate } from '@handover/material';
import { TestClock } from '@handover/test-api-server';

/** A cluster in which some program keeps Bundles: Handover, or trust-manager itself. */
export interface BundleWorld {
  /** May do everything. */
  readonly kube: Kube;
  readonly trustNamespace: string;
  /** PEM of five CAs; the last one is all that the program has as default CAs. */
  readonly cas: readonly [string, string, string, string, string];
}

export const bundleKind = kindOf(`${TRUST_MANAGER.group}/v1alpha1`, 'bundles', 'Bundle', false);

const newCa = async (name: string, now: Instant): Promise<string> => {
  const certificate = await issueCa({
    name,
    generation: 1,
    signer: localSigner(generateKey('ECDSA-P256').privateKey),
    serial: randomBytes(16),
    notBefore: instant(now - hour),
    notAfter: instant(now + 24 * hour),
  });
  return parseCertificate(certificate).pem;
};

export const newCas = async (now: Instant): Promise<BundleWorld['cas']> => [
  await newCa('one', now),
  await newCa('two', now),
  await newCa('three', now),
  await newCa('four', now),
  await newCa('five', now),
];

/** What a target holds of these: trust-manager's order is that of the SHA-256 of each certificate. */
export const joined = (...pems: readonly string[]): string => {
  const hashOf = (pem: string): string =>
    createHash('sha256')
      .update(Buffer.from(pem.replace(/-----[^-]+-----|\s/g, ''), 'base64'))
      .digest('hex');
  return [...pems]
    .sort((a, b) => (hashOf(a) < hashOf(b) ? -1 : 1))
    .join('')
    .trimEnd();
};

/** Repeats the look until it gives something. The bound only keeps a failing case from hanging. */
export const until = async <T>(
  what: string,
  look: () => Promise<T | undefined | false>,
  ms = 60_000,
): Promise<T> => {
  const end = Date.now() + ms;
  let last: unknown;
  while (Date.now() < end) {
    try {
      const found = await look();
      if (found !== undefined && found !== false) return found;
    } catch (error) {
      last = error;
    }
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  throw new Error(`not within ${ms} ms: ${what}`, { cause: last });
};

export interface BundleCondition {
  readonly type: string;
  readonly status: string;
  readonly reason: string;
  readonly message: string;
  readonly observedGeneration: number;
}

export interface Bundle extends KubeObject {
  readonly spec: { sources: Record<string, unknown>[]; target: Record<string, unknown> };
  readonly status?: { readonly conditions?: readonly BundleCondition[]; readonly defaultCAVersion?: string };
}

let serial = 0;
export const freshName = (what: string): string => `${what}-${++serial}-${randomBytes(3).toString('hex')}`;

export const TARGET_KEY = 'target-key';

/** One Bundle of a case: from a ConfigMap (CA 1), a Secret (CA 2) and the spec itself (CA 3), into a ConfigMap in every namespace. */
export class Scene {
  readonly world: BundleWorld;
  readonly name: string;
  readonly configMap = freshName('source');
  readonly secret = freshName('source');

  constructor(world: BundleWorld, name = freshName('bundle')) {
    this.world = world;
    this.name = name;
  }

  /** Waits until the look gives something: by the clock of a test, or by that of this machine. */
  async until<T>(what: string, look: () => Promise<T | undefined | false>): Promise<T> {
    const { clock } = this.world.kube;
    if (!(clock instanceof TestClock)) return until(what, look);
    try {
      return (await clock.until(look, 60_000)) as T;
    } catch (error) {
      throw new Error(`waited in vain for: ${what}`, { cause: error });
    }
  }

  get base(): readonly [string, string, string] {
    const [one, two, three] = this.world.cas;
    return [one, two, three];
  }

  async begin(): Promise<void> {
    const [one, two, three] = this.base;
    await this.putConfigMap(this.configMap, { 'configMap-key': one });
    await this.putSecret(this.secret, { 'secret-key': two });
    await this.create({
      sources: [
        { configMap: { name: this.configMap, key: 'configMap-key' } },
        { secret: { name: this.secret, key: 'secret-key' } },
        { inLine: three },
      ],
      target: { configMap: { key: TARGET_KEY } },
    });
    await this.synced(joined(...this.base));
  }

  async create(spec: object): Promise<void> {
    const apiVersion = `${TRUST_MANAGER.group}/v1alpha1`;
    await this.world.kube.create(bundleKind, {
      apiVersion,
      kind: 'Bundle',
      metadata: { name: this.name },
      spec,
    });
  }

  async end(): Promise<void> {
    await this.world.kube.delete(bundleKind, { name: this.name });
  }

  async bundle(): Promise<Bundle> {
    const found = await this.world.kube.get(bundleKind, { name: this.name });
    if (found === undefined) throw new Error(`no Bundle ${this.name}`);
    return found as unknown as Bundle;
  }

  /** Changes the spec, again if the status was written meanwhile. */
  async change(edit: (spec: Bundle['spec']) => void): Promise<void> {
    await this.until('the Bundle is changed', async () => {
      const bundle = structuredClone(await this.bundle());
      edit(bundle.spec);
      await this.world.kube.update(bundleKind, bundle);
      return true;
    });
  }

  addSource(source: Record<string, unknown>): Promise<void> {
    return this.change(({ sources }) => void sources.push(source));
  }

  async putConfigMap(name: string, data: Readonly<Record<string, string>>, labels = {}): Promise<void> {
    await this.#put('ConfigMap', { data }, name, labels);
  }

  async putSecret(name: string, texts: Readonly<Record<string, string>>, labels = {}): Promise<void> {
    const data = Object.fromEntries(
      Object.entries(texts).map(([key, text]) => [key, Buffer.from(text).toString('base64')]),
    );
    await this.#put('Secret', { type: 'Opaque', data }, name, labels);
  }

  async #put(kind: 'ConfigMap' | 'Secret', content: object, name: string, labels: object): Promise<void> {
    const namespace = this.world.trustNamespace;
    await this.world.kube.patch(
      kind === 'Secret' ? secrets : configMaps,
      { namespace, name },
      {
        apply: { apiVersion: 'v1', kind, metadata: { name, namespace, labels }, ...content },
        force: true,
        fieldManager: 'a-person',
      },
    );
  }

  async namespaces(): Promise<readonly string[]> {
    const { items } = await this.world.kube.list(namespaces);
    return items
      .filter(({ metadata }) => metadata.deletionTimestamp === undefined)
      .map(({ metadata }) => metadata.name ?? '');
  }

  async target(namespace = 'kube-system'): Promise<ConfigMap | undefined> {
    return this.world.kube.get(configMaps, { namespace, name: this.name });
  }

  async secretTarget(namespace = 'kube-system'): Promise<Secret | undefined> {
    return this.world.kube.get(secrets, { namespace, name: this.name });
  }

  async condition(): Promise<BundleCondition | undefined> {
    const { metadata, status } = await this.bundle();
    return status?.conditions?.find(
      ({ type, observedGeneration }) => type === 'Synced' && observedGeneration === metadata.generation,
    );
  }

  async isSynced(): Promise<boolean> {
    return (await this.condition())?.status === 'True';
  }

  /** Waits until every namespace has just this, and the status says so. */
  async synced(text: string, key = TARGET_KEY): Promise<void> {
    await this.until('every namespace has the bundle', async () => {
      const targets = await Promise.all((await this.namespaces()).map((namespace) => this.target(namespace)));
      return targets.every((target) => target?.data?.[key] === text) && (await this.isSynced());
    });
  }

  /** Waits for what every target is to be like. */
  async everywhere(what: string, holds: (target: ConfigMap) => boolean): Promise<void> {
    await this.until(what, async () => {
      const targets = await Promise.all((await this.namespaces()).map((namespace) => this.target(namespace)));
      return targets.every((target) => target !== undefined && holds(target)) && (await this.isSynced());
    });
  }

  /** Changes a target as somebody would by hand. */
  async edit(
    namespace: string,
    edit: (target: { -readonly [Key in keyof ConfigMap]: ConfigMap[Key] }) => void,
  ): Promise<void> {
    await this.until('the target is edited', async () => {
      const target = structuredClone(await this.target(namespace));
      if (target === undefined) return false;
      edit(target);
      await this.world.kube.update(configMaps, target, { fieldManager: 'a-person' });
      return true;
    });
  }

  /** Waits until a whole pass over this Bundle is over: a target that was damaged just now is right again. */
  async afterAnotherPass(): Promise<void> {
    const before = (await this.target('default'))?.data;
    await this.edit('default', (target) => {
      target.data = { [TARGET_KEY]: 'damaged' };
    });
    await this.until('the damaged target is right', async () => {
      const now = (await this.target('default'))?.data;
      return now?.[TARGET_KEY] === before?.[TARGET_KEY];
    });
  }
}
