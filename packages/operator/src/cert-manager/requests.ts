import {
  type AuthorityReader,
  authorityIn,
  type Catalogue,
  type ExternalLeaf,
  type Home,
  type ObjectId,
  type Result,
  signExternal,
} from '@handover/engine';
import type { Kube } from '@handover/kube';
import {
  after,
  type Duration,
  day,
  duration,
  HandoverError,
  isoSeconds,
  printable,
  second,
} from '@handover/material';
import { isCode, OperatorError } from '../error.ts';
import { FIELD_MANAGER } from '../objects/record.ts';
import { askedBy } from './asked.ts';
import {
  authorityOfIssuerRef,
  type CertCondition,
  type CertificateRequest,
  certificateRequests,
  certificates,
  conditionIn,
  isObjectName,
  withCondition,
} from './kinds.ts';

/** Leaves of other namespaces delay a rotation until they end, so that they do not live for years. */
const OTHERS_MOST: Duration = duration(90 * day);
/** A request that cannot be signed yet is looked at after a quarter of its age, within these bounds. */
const PENDING = { least: second, most: 30 * second } as const;
const MOST_MESSAGE = 1_000;

export const mostFor = (maxLifetime: Duration | undefined, own: boolean): Duration | undefined =>
  maxLifetime ?? (own ? undefined : OTHERS_MOST);

/** What is to be done with a request, by what its conditions say. Handover never approves. */
export const nextFor = (request: CertificateRequest): 'nothing' | 'deny' | 'sign' => {
  const ready = conditionIn(request, 'Ready');
  if (ready?.status === 'True' || ready?.reason === 'Failed' || ready?.reason === 'Denied') return 'nothing';
  if (conditionIn(request, 'InvalidRequest')?.status === 'True') return 'nothing';
  if (conditionIn(request, 'Denied')?.status === 'True') return 'deny';
  return conditionIn(request, 'Approved')?.status === 'True' ? 'sign' : 'nothing';
};

export interface SignerOptions {
  readonly kube: Kube;
  readonly home: Home & { readonly authorities: AuthorityReader };
  readonly signal: AbortSignal;
}

type Outcome =
  | { readonly reason: 'Pending' | 'Failed' | 'Denied'; readonly message: string }
  | { readonly reason: 'Issued'; readonly message: string; readonly signed: ExternalLeaf };

const isFinal = ({ reason }: Outcome): boolean => reason === 'Failed' || reason === 'Denied';
const base64 = (certificates: ExternalLeaf['chain']): string =>
  Buffer.from(certificates.map(({ pem }) => pem).join('')).toString('base64');

/** Another try has the same answer, until the request itself changes. */
const isHopeless = (error: unknown): error is HandoverError =>
  isCode(error, 'KUBE_NAME_INVALID', 'KUBE_BAD_REQUEST', 'KUBE_INVALID', 'KUBE_TOO_LARGE');
/** After so many tries such a request has failed. */
const MOST_TRIES = 3;
const MOST_TRIED = 1_000;

/** How often requests were tried whose answer does not change, by their versions. The oldest are forgotten, and tried again. */
class Tries {
  readonly #known = new Map<string, number>();

  of({ metadata: { uid, resourceVersion } }: CertificateRequest): number {
    return this.#known.get(`${uid} ${resourceVersion}`) ?? 0;
  }

  add(request: CertificateRequest): number {
    const { uid, resourceVersion } = request.metadata;
    const tries = this.of(request) + 1;
    this.#known.delete(`${uid} ${resourceVersion}`);
    this.#known.set(`${uid} ${resourceVersion}`, tries);
    const [oldest] = this.#known.keys();
    if (this.#known.size > MOST_TRIED && oldest !== undefined) this.#known.delete(oldest);
    return tries;
  }
}

/** Signs CertificateRequests of cert-manager that name an Authority and were approved. */
export class RequestSigner {
  readonly #options: SignerOptions;
  readonly #tries = new Tries();

  constructor(options: SignerOptions) {
    this.#options = options;
  }

  /** One pass over a request, `namespace/name`. */
  async reconcile(id: string, catalogue: Catalogue): Promise<Result> {
    const [namespace = '', name = ''] = id.split('/');
    const { kube, signal } = this.#options;
    const request = await kube.get(certificateRequests, { namespace, name }, { signal });
    const authority = authorityOfIssuerRef(request?.spec?.issuerRef, namespace);
    const next = request === undefined || authority === undefined ? 'nothing' : nextFor(request);
    if (request === undefined || authority === undefined || next === 'nothing')
      return { requeueAt: undefined };
    if (this.#tries.of(request) >= MOST_TRIES) return { requeueAt: undefined };
    try {
      return await this.#answer(request, next, authority, catalogue);
    } catch (error) {
      if (!isHopeless(error) || this.#tries.add(request) < MOST_TRIES) throw error;
      await this.#write(request, { reason: 'Failed', message: `${error.code}: ${error.message}` });
      return { requeueAt: undefined, acted: true };
    }
  }

  async #answer(
    request: CertificateRequest,
    next: 'deny' | 'sign',
    authority: string,
    catalogue: Catalogue,
  ): Promise<Result> {
    const { home } = this.#options;
    const outcome: Outcome =
      next === 'deny'
        ? { reason: 'Denied', message: 'The CertificateRequest was denied by an approver' }
        : await this.#sign(request, authority, catalogue);
    await this.#write(request, outcome);
    const now = home.clock.now();
    const age = now - (Date.parse(request.metadata.creationTimestamp ?? '') || 0);
    const wait = Math.min(Math.max(age / 4, PENDING.least), PENDING.most);
    const again = outcome.reason === 'Pending' ? after(now, wait) : undefined;
    return { requeueAt: again, acted: outcome.reason !== 'Pending' };
  }

  async #sign(request: CertificateRequest, id: string, catalogue: Catalogue): Promise<Outcome> {
    const { home } = this.#options;
    const { namespace = '', name = '', uid } = request.metadata;
    try {
      const { metadata, spec } = authorityIn(catalogue, id);
      const most = mostFor(spec.issueTo.maxLifetime, metadata.namespace === namespace);
      const asked = refusing(() => askedBy(request, id, most));
      const signed = await signExternal(
        home,
        { authorities: home.authorities, catalogue },
        {
          ...asked,
          authority: id,
          for: { kind: 'CertificateRequest', namespace, name, ...(uid === undefined ? {} : { uid }) },
          why: 'an approved CertificateRequest asks for it',
          ...(await this.#shownIn(request, id)),
        },
      );
      return { reason: 'Issued', message: 'Signed by Handover', signed };
    } catch (error) {
      if (!(error instanceof HandoverError)) throw error;
      const message = `${error.code}: ${error.message}`;
      if (isCode(error, 'LEAF_REFUSED', 'SIGNING_REQUEST_REFUSED')) return { reason: 'Failed', message };
      // It may be created, or repaired, later.
      if (isCode(error, 'LEAF_NOT_NOW', 'AUTHORITY_UNKNOWN', 'RESOURCE_INVALID'))
        return { reason: 'Pending', message };
      throw error;
    }
  }

  /** The Secret of the Certificate of this authority that asks for it: there the leaf will be seen. */
  async #shownIn(
    { metadata }: CertificateRequest,
    authority: string,
  ): Promise<{ readonly shownIn?: ObjectId }> {
    const { kube, signal } = this.#options;
    const { namespace = '', ownerReferences = [] } = metadata;
    const owner = ownerReferences.find(({ kind }) => kind === certificates.kind);
    if (owner === undefined || !isObjectName(owner.name)) return {};
    const found = await kube.get(certificates, { namespace, name: owner.name }, { signal });
    const secret = found?.spec?.secretName;
    return found?.metadata.uid === owner.uid &&
      secret !== undefined &&
      isObjectName(secret) &&
      authorityOfIssuerRef(found.spec?.issuerRef, namespace) === authority
      ? { shownIn: `${namespace}/secrets/${secret}` }
      : {};
  }

  async #write(request: CertificateRequest, outcome: Outcome): Promise<void> {
    const { kube, home, signal } = this.#options;
    const { namespace, name = '', resourceVersion } = request.metadata;
    const now = isoSeconds(home.clock.now());
    const before = request.status?.conditions ?? [];
    const ready: CertCondition & { lastTransitionTime: string } = {
      type: 'Ready',
      status: outcome.reason === 'Issued' ? 'True' : 'False',
      reason: outcome.reason,
      message: printable(outcome.message.slice(0, MOST_MESSAGE)),
      lastTransitionTime: now,
    };
    const last = conditionIn(request, 'Ready');
    if (outcome.reason === 'Pending' && last?.reason === 'Pending' && last.message === ready.message) return;
    const status = {
      conditions: withCondition(before, ready),
      ...(outcome.reason === 'Issued'
        ? { certificate: base64(outcome.signed.chain), ca: base64(outcome.signed.bundle) }
        : {}),
      ...(isFinal(outcome) ? { failureTime: now } : {}),
    };
    try {
      await kube.patch(
        certificateRequests,
        { namespace, name, subresource: 'status' },
        { merge: { metadata: { resourceVersion }, status }, fieldManager: FIELD_MANAGER, signal },
      );
    } catch (error) {
      if (!isCode(error, 'KUBE_CONFLICT')) throw error;
      throw new OperatorError('CONFLICT', `CertificateRequest ${namespace}/${name} changed; looking again`, {
        retry: 'now',
        cause: error,
      });
    }
  }
}

/** Maps schema errors to a refused request. */
const refusing = <T>(read: () => T): T => {
  try {
    return read();
  } catch (error) {
    if (isCode(error, 'RESOURCE_INVALID'))
      throw new OperatorError('SIGNING_REQUEST_REFUSED', error.message, { cause: error });
    throw error;
  }
};
