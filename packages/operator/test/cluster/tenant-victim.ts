// The namespace under attack: an Authority with its own Leaf and bundle, and a watch that compares its status with its objects.
import { randomBytes } from 'node:crypto';
import { generateKey, issueCa, localSigner } from '@handover/core';
import { readableCertificates } from '@handover/engine';
import { configMaps, type Kube, secrets } from '@handover/kube';
import {
  after,
  bytesOf,
  type Certificate,
  day,
  encodePem,
  hour,
  instant,
  parseCertificate,
  verifyChain,
} from '@handover/material';
import { RESOURCE_KINDS } from '@handover/operator';
import type { AuthoritySeen } from './pods.ts';
import { resource, until } from './stage.ts';
import { put, type TenantStage } from './tenant-stage.ts';

/** Names every namespace: without it no other could have a leaf, and there would be nothing to attack with. */
export const OPEN = { namespaceSelector: {} };
/** Renewed soon, so that a stop shows, and its end soon after. A leaf renewed within ten seconds would hold its own rotation up. */
export const SHORT = { lifetime: '60s', renew: { at: '33%' } };
/** Rotations wait for this, and for ten seconds of the kubelet's caches. */
export const ROTATION = { reloadWithin: '1s' };

const decoded = (text: string | undefined): Uint8Array => Buffer.from(text ?? '', 'base64');

export interface LeafNow {
  readonly chain: readonly Certificate[];
  readonly anchors: readonly Certificate[];
}

export class Victim {
  /** Moments at which the Authority said Ready=True though its leaf was refused by its bundle. */
  readonly lies: string[] = [];
  readonly namespace: string;
  readonly #kube: Kube;
  #watching: NodeJS.Timeout | undefined;
  #refusedSince: number | undefined;

  constructor({ admin }: TenantStage, namespace: string) {
    this.#kube = admin;
    this.namespace = namespace;
  }

  get id(): string {
    return `${this.namespace}/mesh`;
  }

  async declare(
    spec: object = {},
    leaf: object = {},
    annotations: Readonly<Record<string, string>> = {},
  ): Promise<void> {
    const authority = resource(
      'Authority',
      'mesh',
      { issueTo: OPEN, rotation: ROTATION, ...spec },
      this.namespace,
    );
    await put(this.#kube, withAnnotations(authority, annotations));
    const web = resource(
      'Leaf',
      'web',
      { authority: 'mesh', dnsNames: [`web.${this.namespace}.svc`], ...leaf },
      this.namespace,
    );
    await put(this.#kube, withAnnotations(web, { 'handover.dev/used-by': 'nobody' }));
  }

  /** Compares what the Authority says with what its objects hold, until the test is over. */
  watch(): void {
    const look = async (): Promise<void> => {
      await this.#compare().catch(() => {});
      if (this.#watching !== undefined) this.#watching = setTimeout(look, 200).unref();
    };
    this.#watching = setTimeout(look, 200).unref();
  }

  unwatch(): void {
    clearTimeout(this.#watching);
    this.#watching = undefined;
  }

  async #compare(): Promise<void> {
    const ready = await this.condition('Ready');
    const now = await this.leaf();
    const verdict =
      ready?.status !== 'True' || now === undefined || now.chain.length === 0
        ? undefined
        : verifyChain({ ...now, at: instant(Date.now()), purpose: 'server' });
    if (verdict === undefined || verdict.ok) {
      this.#refusedSince = undefined;
      return;
    }
    // What was read first may be a moment older than what was read last.
    this.#refusedSince ??= Date.now();
    if (Date.now() - this.#refusedSince > 2_000)
      this.lies.push(`Ready=True at ${new Date().toISOString()}: ${verdict.code}`);
  }

  async status(): Promise<AuthoritySeen> {
    const found = await this.#kube.get(RESOURCE_KINDS.Authority, { namespace: this.namespace, name: 'mesh' });
    return (found?.status ?? {}) as AuthoritySeen;
  }

  async condition(type: string): Promise<NonNullable<AuthoritySeen['conditions']>[number] | undefined> {
    return (await this.status()).conditions?.find((condition) => condition.type === type);
  }

  /** Certificates in its bundle; undefined: there is none. */
  async bundle(): Promise<readonly Certificate[] | undefined> {
    const found = await this.#kube.get(configMaps, { namespace: this.namespace, name: 'mesh-trust' });
    return found === undefined ? undefined : readableCertificates(bytesOf(found.data?.['ca.crt'] ?? ''));
  }

  /** What its own Secret and its bundle hold now. */
  async leaf(): Promise<LeafNow | undefined> {
    const found = await this.#kube.get(secrets, { namespace: this.namespace, name: 'web' });
    const anchors = await this.bundle();
    return found === undefined || anchors === undefined
      ? undefined
      : { chain: readableCertificates(decoded(found.data?.['tls.crt'])), anchors };
  }

  /** Its own leaf is there and its own bundle accepts it. */
  async served(ms = 30_000): Promise<LeafNow> {
    return until(
      async () => {
        const now = await this.leaf();
        if (now === undefined) return undefined;
        return verifyChain({ ...now, at: instant(Date.now()), purpose: 'server' }).ok && now;
      },
      `a leaf of ${this.namespace} that its own bundle accepts`,
      ms,
    );
  }

  /** Fingerprints of the CAs that its status lists. */
  async ownCas(): Promise<readonly string[]> {
    return ((await this.status()).generations ?? []).map(({ fingerprint }) => fingerprint);
  }

  async annotate(annotations: Readonly<Record<string, string>>): Promise<void> {
    await this.#kube.patch(
      RESOURCE_KINDS.Authority,
      { namespace: this.namespace, name: 'mesh' },
      { merge: { metadata: { annotations } } },
    );
  }

  /** Waits until another leaf replaces the present one. */
  async renewed(ms: number): Promise<void> {
    const before = (await this.leaf())?.chain[0]?.fingerprint;
    await until(
      async () => {
        const now = (await this.leaf())?.chain[0]?.fingerprint;
        return now !== undefined && now !== before;
      },
      `the leaf of ${this.namespace} to be renewed`,
      ms,
    );
  }

  /** A rotation from its beginning to its end. */
  async rotated(to: number, ms = 60_000): Promise<void> {
    await this.annotate({ 'handover.dev/rotate': `to-${to}` });
    let last: AuthoritySeen = {};
    await until(
      async () => {
        last = await this.status();
        const { phase, generations = [] } = last;
        // A CA that stays trusted for a neighbour, without its key, is no part of the rotation.
        const used = generations.filter(({ role }) => role !== 'retained');
        return phase === 'Stable' && used.length === 1 && used[0]?.generation === to;
      },
      `the rotation of ${this.id} to generation ${to} to end`,
      ms,
    ).catch((error: unknown) => {
      throw new Error(`${String(error)}: ${last.phase}, ${JSON.stringify(last.blockedBy)}`);
    });
  }

  /** A distrust removes the CA generation from the bundle, and the leaf is reissued. */
  async distrusted(generation: number, ms = 30_000): Promise<void> {
    const gone = (await this.status()).generations?.find((one) => one.generation === generation);
    await this.annotate({ 'handover.dev/distrust': String(generation) });
    await until(
      async () => {
        const bundle = (await this.bundle()) ?? [];
        return bundle.length > 0 && bundle.every(({ fingerprint }) => fingerprint !== gone?.fingerprint);
      },
      `the bundle of ${this.id} without generation ${generation}`,
      ms,
    );
    await this.served();
  }
}

export const withAnnotations = (object: object, annotations: Readonly<Record<string, string>>): object => {
  const { metadata, ...rest } = object as { readonly metadata: object };
  return { ...rest, metadata: { ...metadata, annotations } };
};

/** A namespace with an Authority and a Leaf, watched. */
export const victim = async (
  stage: TenantStage,
  namespace: string,
  spec: object = {},
  leaf: object = {},
): Promise<Victim> => {
  await stage.namespace(namespace);
  const made = new Victim(stage, namespace);
  await made.declare(spec, leaf);
  made.watch();
  return made;
};

/** A CA of the attacker, with its key in the attacker's hands. */
export const attackersCa = async (
  name = 'attacker',
): Promise<{ readonly pem: string; readonly certificate: Certificate }> => {
  const der = await issueCa({
    name,
    generation: 1,
    signer: localSigner(generateKey('ECDSA-P256').privateKey),
    serial: randomBytes(16),
    notBefore: after(instant(Date.now()), -hour),
    notAfter: after(instant(Date.now()), 365 * day),
  });
  return { pem: encodePem('CERTIFICATE', der), certificate: parseCertificate(der) };
};
