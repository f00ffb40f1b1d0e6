import { MOST_NAMED_ELSEWHERE, type ObjectSeen, USED_BY, type WrittenBy } from '@handover/core';
import {
  type AuthorityRecord,
  type ExternallyHeldReader,
  idOf,
  type ObjectId,
  type Reissues,
  type Responsibilities,
  readableCertificates,
  unknownExternallyHeld,
} from '@handover/engine';
import type { Kube } from '@handover/kube';
import { HandoverError, type Instant, instant, isoSeconds, minute, second } from '@handover/material';
import { OVER_SHARE } from '../cache/budget.ts';
import { isCode, OperatorError } from '../error.ts';
import { FIELD_MANAGER } from '../objects/record.ts';
import type { CertManagerCluster, CertManagerView } from './cluster.ts';
import { DeletedLeafTracker } from './deleted-leaves.ts';
import { FirstSeenTimes } from './first-seen-times.ts';
import { heldLeaf } from './held.ts';
import {
  authorityOfIssuerRef,
  type CertificateRequest,
  type CertManagerCertificate,
  certificates,
  conditionIn,
  isObjectName,
  PROGRAM,
  withCondition,
} from './kinds.ts';
import type { ExternallyHeldSecret } from './projections.ts';
import { UnlabelledSecrets } from './unlabelled-secrets.ts';

export const timeOf = (text: string | undefined): number => Date.parse(text ?? '') || 0;

/** What another program says, for people. */
const shortly = (text: string): string => (text.length > 300 ? `${text.slice(0, 300)}…` : text);

const ownerKey = (namespace = '', uid = ''): string => `${namespace} ${uid}`;

/** Requests with a leaf, by the Certificate that owns them. Only an issuer writes the status of a request. */
const issuedFor = (
  requests: readonly CertificateRequest[],
): ReadonlyMap<string, readonly CertificateRequest[]> => {
  const all = new Map<string, CertificateRequest[]>();
  for (const request of requests) {
    const { namespace, ownerReferences = [] } = request.metadata;
    if (request.status?.certificate === undefined) continue;
    for (const { uid } of ownerReferences) {
      const key = ownerKey(namespace, uid);
      const known = all.get(key);
      if (known === undefined) all.set(key, [request]);
      else known.push(request);
    }
  }
  return all;
};

/** A leaf that was signed for a Certificate whose Secret does not exist yet. */
const onItsWay = (
  requests: readonly CertificateRequest[],
  certificate: CertManagerCertificate,
): Uint8Array | undefined => {
  const issued = requests.filter((one) => isOf(one, certificate) && one.status?.certificate !== undefined);
  const last = issued.sort(byAge).at(-1);
  return last === undefined ? undefined : leafIn(last);
};

/** The same bytes at each look, so that they are parsed once. */
const leaves = new WeakMap<CertificateRequest, Uint8Array>();
const leafIn = (request: CertificateRequest): Uint8Array => {
  const bytes = leaves.get(request) ?? Buffer.from(request.status?.certificate ?? '', 'base64');
  leaves.set(request, bytes);
  return bytes;
};

const byAge = (a: CertificateRequest, b: CertificateRequest): number =>
  timeOf(a.metadata.creationTimestamp) - timeOf(b.metadata.creationTimestamp);

const isOf = ({ metadata }: CertificateRequest, certificate: CertManagerCertificate): boolean =>
  metadata.namespace === certificate.metadata.namespace &&
  (metadata.ownerReferences ?? []).some(
    ({ kind, uid }) => kind === 'Certificate' && uid === certificate.metadata.uid,
  );

const slowness = (certificate: CertManagerCertificate, requests: readonly CertificateRequest[]): string => {
  const [last] = requests
    .filter((one) => isOf(one, certificate))
    .sort(byAge)
    .reverse();
  const since = conditionIn(certificate, 'Issuing')?.lastTransitionTime ?? '';
  if (last !== undefined && conditionIn(last, 'Approved') === undefined)
    return `CertificateRequest ${last.metadata.name} is not approved since ${since}: allow the approver to approve Authorities, see docs/recipes/cert-manager.md`;
  const ready = last === undefined ? undefined : conditionIn(last, 'Ready');
  return ready?.message === undefined
    ? `cert-manager has not answered since ${since}: look at its controller`
    : shortly(`CertificateRequest ${last?.metadata.name}: ${ready.message}`);
};

interface AskOptions {
  readonly kube: Kube;
  readonly signal: AbortSignal;
  readonly now: () => Instant;
}

/** Sets the condition Issuing of a Certificate, on version `expect` of it, else `CONFLICT`. */
async function askCertificate(
  { kube, signal, now }: AskOptions,
  which: { readonly namespace: string; readonly name: string },
  expect: string,
  why: string,
): Promise<void> {
  const found = await kube.get(certificates, which, { signal });
  if (found?.metadata.resourceVersion !== expect)
    throw new OperatorError('CONFLICT', `Certificate ${which.namespace}/${which.name} changed`);
  const { generation } = found.metadata;
  const conditions = withCondition(found.status?.conditions ?? [], {
    type: 'Issuing',
    status: 'True',
    reason: 'AuthorityRotated',
    message: `Handover asks for a new certificate: ${why}`,
    lastTransitionTime: isoSeconds(now()),
    ...(generation === undefined ? {} : { observedGeneration: generation }),
  });
  await kube.patch(
    certificates,
    { ...which, subresource: 'status' },
    {
      merge: { metadata: { resourceVersion: expect }, status: { conditions } },
      fieldManager: FIELD_MANAGER,
      signal,
    },
  );
}

/** A request for a new leaf that the cache does not show yet is not made again. */
const ASKED_MS = 30 * second;
/** After a failure cert-manager waits for an hour or more; a person who has repaired the cause should not have to. */
const FAILED_MS = 10 * minute;
/** So long may cert-manager work before it is called slow. */
const SLOW_MS = minute;

/**
 * Of Secrets in one other namespace that no Certificate asks for. One more than a state names: with so many it remembers the end of the last leaf
 * in place of names, and what is left out ends no later.
 */
const MOST_COPIES = MOST_NAMED_ELSEWHERE + 1;

/** So many Secrets are parsed before other work has its turn. */
const AT_A_TIME = 20;
const breath = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

const secretId = (namespace: string, name: string): ObjectId => `${namespace}/secrets/${name}`;

/** One Secret with a leaf, and what asks for it. */
interface Found {
  readonly id: ObjectId;
  readonly namespace: string;
  readonly secret: ExternallyHeldSecret | undefined;
  readonly certificate: CertManagerCertificate | undefined;
  readonly pem: Uint8Array | undefined;
}

interface Asked {
  readonly at: Instant;
  /** Of its Certificate. */
  readonly name: string;
  /** Why it could not be asked. */
  readonly refused?: string;
}

interface ExternallyHeldOptions {
  readonly kube: Kube;
  readonly cluster: CertManagerCluster;
  readonly signal: AbortSignal;
  readonly now: () => Instant;
  /** Tells the pods that mount a Secret: without that a kubelet takes a minute or more. */
  readonly nudge: (id: ObjectId, fingerprint: string) => void;
  /** A Secret of another namespace was read after the look that missed it. Default: looks wait for these reads. */
  readonly onRead?: ((namespace: string) => void) | undefined;
  /** Since when Secrets count as being as they are at the first look, where no step rests on it. Default: since that look. */
  readonly begun?: Instant | undefined;
}

/** Secrets of cert-manager that hold leaves of an authority: read, never written. */
export class ExternallyHeldCertificates implements Reissues {
  readonly #options: ExternallyHeldOptions;
  readonly #firstSeen: FirstSeenTimes;
  readonly #unlabelled: UnlabelledSecrets;
  readonly #deleted = new DeletedLeafTracker();
  /** When a Certificate was asked for a new leaf, by the id of its Secret. */
  readonly #asked = new Map<ObjectId, Asked>();

  /** What the owner of a Certificate says about the readers of its Secret. */
  readonly #words = new Map<ObjectId, Readonly<Record<string, string>>>();

  constructor(options: ExternallyHeldOptions) {
    this.#options = options;
    this.#firstSeen = new FirstSeenTimes(options.begun);
    const { cluster, signal, now, onRead } = options;
    const get = (namespace: string, name: string) => cluster.secret(namespace, name, signal);
    this.#unlabelled = new UnlabelledSecrets({ get, now, onRead });
  }

  reader(fresh: boolean): ExternallyHeldReader {
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
    if (view === undefined) return unknownExternallyHeld(record, responsibilities);
    this.#forget(view);
    const { all, trouble } = await this.#found(view, responsibilities);
    // What cannot be seen counts as in use, within the dates in the state.
    const unknown = trouble === undefined ? [] : unknownExternallyHeld(record, responsibilities, trouble);
    const seen = new Map(unknown.map((object) => [object.id, object]));
    const { namespace } = responsibilities.authority.metadata;
    const copies = new Map<string, number>();
    for (const [index, found] of all.entries()) {
      if (index % AT_A_TIME === AT_A_TIME - 1) await breath();
      const isCopy = found.certificate === undefined && found.namespace !== namespace;
      if (isCopy && (copies.get(found.namespace) ?? 0) >= MOST_COPIES) continue;
      const object = this.#seen(found, view, responsibilities, record, now);
      if (object === undefined || responsibilities.leaves.has(found.id)) continue;
      seen.set(found.id, object);
      if (isCopy) copies.set(found.namespace, (copies.get(found.namespace) ?? 0) + 1);
      // Only a leader looks past the caches.
      if (fresh) this.#tell(found.id, object.leaf?.fingerprint ?? '');
    }
    return this.#deleted
      .update(responsibilities.id, namespace, record, [...seen.values()], now)
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
    this.#firstSeen.retain(there);
    this.#unlabelled.retain(there);
    for (const known of [this.#asked, this.#words, this.#told])
      for (const id of known.keys()) if (!there.has(id)) known.delete(id);
  }

  /** Secrets of the namespaces that it serves, whatever asks for them now: they outlive their Certificates, and programs go on with them. */
  async #found(
    view: CertManagerView,
    responsibilities: Responsibilities,
  ): Promise<{ readonly all: readonly Found[]; readonly trouble: string | undefined }> {
    const own = responsibilities.authority.metadata.namespace;
    const bySecret = new Map(view.secrets.map((secret) => [secretId(secret.namespace, secret.name), secret]));
    const issued = issuedFor(view.requests);
    const asking = view.certificates.flatMap((certificate) => {
      const { namespace = '', uid } = certificate.metadata;
      const name = certificate.spec?.secretName;
      const isOurs = authorityOfIssuerRef(certificate.spec?.issuerRef, namespace) === responsibilities.id;
      if (name === undefined || !isObjectName(name)) return [];
      const shown = issued.get(ownerKey(namespace, uid)) ?? [];
      // A namespace that is served no longer may still use what this authority signed. Others are not looked at.
      const gotOne = shown.some(
        ({ spec }) => authorityOfIssuerRef(spec?.issuerRef, namespace) === responsibilities.id,
      );
      if (!responsibilities.serves(namespace) && !gotOne) return [];
      return [{ id: secretId(namespace, name), namespace, certificate, isOurs, shown }];
    });
    const unseen = asking.filter(({ id, isOurs }) => isOurs && !bySecret.has(id));
    const unread = view.trouble ?? (await this.#unlabelled.read(unseen, own));
    const found = new Map<ObjectId, Found>();
    for (const { id, namespace, certificate, isOurs, shown } of asking) {
      const secret = bySecret.get(id) ?? (isOurs ? this.#unlabelled.of(id) : undefined);
      const pem = secret?.crt ?? onItsWay(shown, certificate);
      if (isOurs || !found.has(id)) found.set(id, { id, namespace, secret, certificate, pem });
    }
    for (const [id, secret] of bySecret)
      if (!found.has(id) && responsibilities.serves(secret.namespace))
        found.set(id, {
          id,
          namespace: secret.namespace,
          secret,
          certificate: undefined,
          pem: secret.crt,
        });
    const over = view.unknown?.has(own)
      ? `Certificates and Secrets of namespace ${own}: ${OVER_SHARE}`
      : undefined;
    return { all: [...found.values()], trouble: unread ?? over };
  }

  #seen(
    { id, namespace, secret, certificate, pem }: Found,
    { requests, trouble }: CertManagerView,
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
      ...this.#firstSeen.record(id, { ...held, cas: readableCertificates(secret?.ca) }, now),
      writtenBy: {
        program: PROGRAM,
        ...(trouble === undefined
          ? this.#standing(id, certificate, requests, responsibilities, now)
          : { asked: 'never', failing: trouble }),
        ...(Number.isFinite(since) ? { since: instant(since) } : {}),
        ...(certificate?.metadata.annotations?.[USED_BY] === 'others' ? { usedByOthers: true as const } : {}),
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
    if (authorityOfIssuerRef(issuerRef, namespace) !== responsibilities.id)
      return {
        asked: 'never',
        remark: `Certificate ${name} names ${issuerRef?.kind ?? 'Issuer'} ${issuerRef?.name ?? ''}: change its issuerRef to Authority ${idOf(responsibilities.authority)}`,
      };
    const asked = { at: instant(0), ...this.#asked.get(id), name };
    this.#asked.set(id, asked);
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
    const isRecent = now - asked.at < ASKED_MS || now - failedAt < FAILED_MS;
    const refused = asked.refused === undefined ? failing : { failing: shortly(asked.refused) };
    return { asked: isRecent ? 'pending' : 'can', ...refused };
  }

  /** As `cmctl renew` asks: by the condition Issuing, on the very version that was seen. */
  async ask(object: ObjectId, expect: string, why: string): Promise<void> {
    const before = this.#asked.get(object);
    const name = before?.name;
    if (name === undefined) throw new TypeError(`${object} has no Certificate`);
    const [namespace = ''] = object.split('/', 1);
    const at = this.#options.now();
    // The last refusal stands until this one is answered.
    this.#asked.set(object, { ...before, at, name });
    try {
      await askCertificate(this.#options, { namespace, name }, expect, why);
      this.#asked.set(object, { at, name });
    } catch (error) {
      const isGone = isCode(error, 'KUBE_CONFLICT', 'KUBE_NOT_FOUND', 'CONFLICT');
      this.#asked.set(object, { at: instant(0), name });
      if (isGone)
        throw new OperatorError('CONFLICT', `Certificate ${namespace}/${name} changed; looking again`, {
          retry: 'now',
          path: object,
          cause: error,
        });
      if (this.#options.signal.aborted || !(error instanceof HandoverError)) throw error;
      // A pass that fails would hold up all else, a distrust too: this is said in the status, and tried again later.
      const refused = `Certificate ${name} cannot be asked for a new leaf: ${error.message}`;
      this.#asked.set(object, { at, name, refused });
    }
  }
}
