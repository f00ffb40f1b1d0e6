import type { ObjectSeen, WrittenBy } from '@handover/core';
import {
  type AuthorityRecord,
  idOf,
  type LentReader,
  type ObjectId,
  type Reissues,
  type Responsibilities,
  readableCertificates,
  unknownLent,
} from '@handover/engine';
import type { Kube } from '@handover/kube';
import { type Instant, instant, minute, second } from '@handover/material';
import { isCode, OperatorError } from '../error.ts';
import { FIELD_MANAGER } from '../objects/record.ts';
import type { CertManagerCluster, CertManagerView, LentSecret } from './cluster.ts';
import { Gone } from './gone.ts';
import { heldLeaf } from './held.ts';
import {
  type CertificateRequest,
  type CertManagerCertificate,
  certificates,
  conditionIn,
  issuerOf,
  PROGRAM,
  withCondition,
} from './kinds.ts';
import { onItsWay, shortly, slowness, timeOf } from './progress.ts';
import { Sights } from './sights.ts';

/** A request for a new leaf that the cache does not show yet is not made again. */
const ASKED_MS = 30 * second;
/** After a failure cert-manager waits for an hour or more; a person who has repaired the cause should not have to. */
const FAILED_MS = 10 * minute;
/** So long may cert-manager work before it is called slow. */
const SLOW_MS = minute;

const secretId = (namespace: string, name: string): ObjectId => `${namespace}/secrets/${name}`;

/** One Secret with a leaf, and what asks for it. */
interface Found {
  readonly id: ObjectId;
  readonly namespace: string;
  readonly secret: LentSecret | undefined;
  readonly certificate: CertManagerCertificate | undefined;
  readonly pem: Uint8Array | undefined;
}

export interface LentOptions {
  readonly kube: Kube;
  readonly cluster: CertManagerCluster;
  readonly signal: AbortSignal;
  readonly now: () => Instant;
  /** Tells the pods that mount a Secret: without that a kubelet takes a minute or more. */
  readonly nudge: (id: ObjectId, fingerprint: string) => void;
  /** Since when Secrets count as being as they are at the first look, where no step rests on it. Default: since that look. */
  readonly begun?: Instant | undefined;
}

/** Secrets of cert-manager that hold leaves of an authority: read, never written. */
export class LentCertificates implements Reissues {
  readonly #options: LentOptions;
  readonly #sights: Sights;
  readonly #gone = new Gone();
  /** When a Certificate was asked for a new leaf, by the id of its Secret. */
  readonly #asked = new Map<ObjectId, { readonly at: Instant; readonly name: string }>();

  /** What the owner of a Certificate says about the readers of its Secret. */
  readonly #words = new Map<ObjectId, Readonly<Record<string, string>>>();

  constructor(options: LentOptions) {
    this.#options = options;
    this.#sights = new Sights(options.begun);
  }

  reader(fresh: boolean): LentReader {
    return { of: (responsibilities, record, now) => this.#of(responsibilities, record, now, fresh) };
  }

  /** Leaves that pods were told of. */
  readonly #told = new Map<ObjectId, string>();

  readonly wordsOn = (id: ObjectId): Readonly<Record<string, string>> => this.#words.get(id) ?? {};

  async #of(
    responsibilities: Responsibilities,
    record: AuthorityRecord,
    now: Instant,
    fresh: boolean,
  ): Promise<readonly ObjectSeen[]> {
    const { cluster, signal } = this.#options;
    const { generations } = record.state;
    // Only a step of a rotation rests on these Secrets.
    const view = fresh && generations.length > 1 ? await cluster.fresh(signal) : cluster.cached();
    if (view === undefined) return unknownLent(record, responsibilities);
    this.#forget(view);
    const seen = new Map<ObjectId, ObjectSeen>();
    for (const found of await this.#found(view, responsibilities)) {
      const object = this.#seen(found, view, responsibilities, record, now);
      if (object === undefined || responsibilities.leaves.has(found.id)) continue;
      seen.set(found.id, object);
      // Only a leader looks past the caches.
      if (fresh) this.#tell(found.id, object.leaf?.fingerprint ?? '');
    }
    const { namespace } = responsibilities.authority.metadata;
    return this.#gone
      .among(responsibilities.id, namespace, record, [...seen.values()], now)
      .filter(({ id }) => !responsibilities.leaves.has(id));
  }

  #tell(id: ObjectId, fingerprint: string): void {
    if (this.#told.get(id) === fingerprint) return;
    this.#told.set(id, fingerprint);
    this.#options.nudge(id, fingerprint);
  }

  #forget({ certificates: all, secrets }: CertManagerView): void {
    const there = new Set([
      ...secrets.map(({ namespace, name }) => secretId(namespace, name)),
      ...all.map(({ metadata, spec }) => secretId(metadata.namespace ?? '', spec?.secretName ?? '')),
    ]);
    this.#sights.keep(there);
    for (const known of [this.#asked, this.#words, this.#told])
      for (const id of known.keys()) if (!there.has(id)) known.delete(id);
  }

  /** Secrets of the namespaces that it issues to, whatever asks for them now: they outlive their Certificates, and programs go on with them. */
  async #found(view: CertManagerView, responsibilities: Responsibilities): Promise<readonly Found[]> {
    const bySecret = new Map(view.secrets.map((secret) => [secretId(secret.namespace, secret.name), secret]));
    const found = new Map<ObjectId, Found>();
    for (const certificate of view.certificates) {
      const { namespace = '' } = certificate.metadata;
      const name = certificate.spec?.secretName;
      const isOurs = issuerOf(certificate.spec?.issuerRef, namespace) === responsibilities.id;
      // A namespace that it issues nothing to has copies at most.
      if (name === undefined || !responsibilities.issuesTo(namespace)) continue;
      const id = secretId(namespace, name);
      const secret =
        bySecret.get(id) ??
        (isOurs ? await this.#options.cluster.secret(namespace, name, this.#options.signal) : undefined);
      const pem = secret?.crt ?? onItsWay(view.requests, certificate);
      if (isOurs || !found.has(id)) found.set(id, { id, namespace, secret, certificate, pem });
    }
    for (const [id, secret] of bySecret) {
      const { namespace, crt: pem } = secret;
      if (!found.has(id) && responsibilities.issuesTo(namespace))
        found.set(id, { id, namespace, secret, certificate: undefined, pem });
    }
    return [...found.values()];
  }

  #seen(
    { id, namespace, secret, certificate, pem }: Found,
    { requests }: CertManagerView,
    responsibilities: Responsibilities,
    record: AuthorityRecord,
    now: Instant,
  ): ObjectSeen | undefined {
    const held = heldLeaf(pem, namespace, responsibilities, record);
    if (held === undefined) return undefined;
    const since = Math.min(
      timeOf(certificate?.metadata.creationTimestamp) || Number.NEGATIVE_INFINITY,
      secret?.createdAt ?? Number.POSITIVE_INFINITY,
    );
    return {
      id,
      version: certificate?.metadata.resourceVersion ?? '',
      revision: undefined,
      ...this.#sights.see(id, { ...held, cas: readableCertificates(secret?.ca) }, now),
      writtenBy: {
        program: PROGRAM,
        ...this.#standing(id, certificate, requests, responsibilities, now),
        ...(Number.isFinite(since) ? { since: instant(since) } : {}),
        namespace,
      },
      ...(held.until === undefined ? {} : { elsewhere: true }),
    };
  }

  #standing(
    id: ObjectId,
    certificate: CertManagerCertificate | undefined,
    requests: readonly CertificateRequest[],
    responsibilities: Responsibilities,
    now: Instant,
  ): Pick<WrittenBy, 'asked' | 'failing' | 'remark'> {
    if (certificate === undefined)
      return {
        asked: 'never',
        remark: 'no Certificate asks for it any more: delete the Secret once no program uses it',
      };
    const { namespace = '', name = '', annotations = {} } = certificate.metadata;
    this.#words.set(id, annotations);
    const { issuerRef } = certificate.spec ?? {};
    if (issuerOf(issuerRef, namespace) !== responsibilities.id)
      return {
        asked: 'never',
        remark: `Certificate ${name} names ${issuerRef?.kind ?? 'Issuer'} ${issuerRef?.name ?? ''}: change its issuerRef to Authority ${idOf(responsibilities.authority)}`,
      };
    this.#asked.set(id, { at: this.#asked.get(id)?.at ?? instant(0), name });
    const issuing = conditionIn(certificate, 'Issuing');
    if (issuing?.status === 'True') {
      const since = timeOf(issuing.lastTransitionTime);
      return {
        asked: 'pending',
        ...(now - since < SLOW_MS ? {} : { remark: slowness(certificate, requests) }),
      };
    }
    const failedAt = timeOf(certificate.status?.lastFailureTime);
    const failing =
      failedAt === 0
        ? {}
        : { failing: shortly(`Certificate ${name} failed: ${issuing?.message ?? 'see its status'}`) };
    const isRecent = now - (this.#asked.get(id)?.at ?? 0) < ASKED_MS || now - failedAt < FAILED_MS;
    return { asked: isRecent ? 'pending' : 'can', ...failing };
  }

  /** As `cmctl renew` asks: by the condition Issuing, on the very version that was seen. */
  async ask(object: ObjectId, expect: string, why: string): Promise<void> {
    const { kube, signal, now } = this.#options;
    const [namespace = ''] = object.split('/', 1);
    const name = this.#asked.get(object)?.name;
    if (name === undefined) throw new TypeError(`${object} has no Certificate`);
    const found = await kube.get(certificates, { namespace, name }, { signal });
    const changed = (cause?: unknown): never => {
      throw new OperatorError('CONFLICT', `Certificate ${namespace}/${name} changed; looking again`, {
        retry: 'now',
        path: object,
        cause,
      });
    };
    if (found?.metadata.resourceVersion !== expect) return changed();
    const { generation } = found.metadata as { readonly generation?: number };
    const conditions = withCondition(found.status?.conditions ?? [], {
      type: 'Issuing',
      status: 'True',
      reason: 'AuthorityRotated',
      message: `Handover asks for a new certificate: ${why}`,
      lastTransitionTime: new Date(now()).toISOString().replace(/\.\d+Z$/, 'Z'),
      ...(generation === undefined ? {} : { observedGeneration: generation }),
    });
    this.#asked.set(object, { at: now(), name });
    try {
      await kube.patch(
        certificates,
        { namespace, name, subresource: 'status' },
        {
          merge: { metadata: { resourceVersion: expect }, status: { conditions } },
          fieldManager: FIELD_MANAGER,
          signal,
        },
      );
    } catch (error) {
      this.#asked.set(object, { at: instant(0), name });
      if (isCode(error, 'KUBE_CONFLICT', 'KUBE_NOT_FOUND')) changed(error);
      throw error;
    }
  }
}
