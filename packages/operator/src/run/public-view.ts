import {
  type AuthorityResourceStatus,
  countEvidence,
  DISTRUST,
  type LeafResourceStatus,
  ROTATE,
  standsOn,
} from '@handover/core';
import {
  type AuthorityId,
  type AuthorityStatus,
  authorityRef,
  checkRotationId,
  type Status,
  type Unusable,
  unusableLine,
} from '@handover/engine';
import { type Kube, type KubeObject, secrets } from '@handover/kube';
import { isMap } from '@handover/material';
import { isCode, OperatorError } from '../error.ts';
import { changeRequests, withoutQueued, withRequest } from '../home/request-list.ts';
import { STATE_LABEL_SELECTOR } from '../objects/authorities.ts';
import { RESOURCE_KINDS } from '../resources/declared.ts';

type ResourceName = keyof typeof RESOURCE_KINDS;

/** An Authority as its status shows it. */
export interface PublicAuthority extends AuthorityStatus {
  /** Ids of rotations that have begun, oldest first. */
  readonly rotations: readonly string[];
}

const REMARK =
  'shown as the operator wrote it last: this account may not read the Secrets of Handover, and need not';

/** Whether this account may read the states, and with them the key of every CA. */
export const mayReadStates = async (kube: Kube, signal: AbortSignal): Promise<boolean> => {
  try {
    // Metadata is enough to know, and shows no key.
    const which = { labelSelector: STATE_LABEL_SELECTOR, metadataOnly: true };
    for await (const _page of kube.pages(secrets, which, { signal })) break;
    return true;
  } catch (error) {
    if (isCode(error, 'KUBE_FORBIDDEN')) return false;
    throw error;
  }
};

const idOf = ({ metadata }: KubeObject): string =>
  metadata.namespace === undefined ? `${metadata.name}` : `${metadata.namespace}/${metadata.name}`;

const statusIn = <T>(object: KubeObject): Partial<T> =>
  (isMap(object.status) ? object.status : {}) as Partial<T>;

interface Condition {
  readonly type: string;
  readonly status: string;
  readonly reason: string;
  readonly message: string;
}

const conditionIn = (object: KubeObject, type: string): Condition | undefined =>
  (statusIn<{ readonly conditions: readonly Condition[] }>(object).conditions ?? []).find(
    (condition) => condition.type === type,
  );

const unusableIn = (kind: string, objects: readonly KubeObject[]): readonly Unusable[] =>
  objects.flatMap((object) => {
    const ready = conditionIn(object, 'Ready');
    return ready?.status === 'False' && ready.reason === 'Invalid'
      ? [{ kind, id: idOf(object), code: 'RESOURCE_INVALID', message: ready.message }]
      : [];
  });

const leafReport = (leaf: KubeObject): AuthorityStatus['leaves'][number] => {
  const { secretName = '', generation, fingerprint, notAfter } = statusIn<LeafResourceStatus>(leaf);
  const { namespace = '', name = '' } = leaf.metadata;
  const ready = conditionIn(leaf, 'Ready');
  return {
    namespace,
    name,
    secret: secretName === '' ? '' : `${namespace}/secrets/${secretName}`,
    generation: generation ?? null,
    fingerprint: fingerprint ?? null,
    notAfter: notAfter ?? null,
    ...(ready?.reason === 'Refused' ? { refused: ready.message } : {}),
  };
};

const authorityOf = (leaf: KubeObject): string => {
  const { authority } = (isMap(leaf.spec) ? leaf.spec : {}) as { readonly authority?: unknown };
  return typeof authority === 'string' ? authorityRef(authority, leaf.metadata.namespace ?? '') : '';
};

/** What an Authority needs before the operator has looked at it. */
const NOT_LOOKED_AT = 'the operator has not looked at it yet; check that one runs';

const authorityIn = (object: KubeObject, leaves: readonly KubeObject[]): PublicAuthority => {
  const status = statusIn<AuthorityResourceStatus>(object);
  const { generations = [], blockedBy = [], consumers = [], notes = [], history = [] } = status;
  const ready = conditionIn(object, 'Ready');
  const isReady = ready?.status === 'True';
  const expiring = (['Critical', 'ExpiringSoon'] as const).find(
    (type) => conditionIn(object, type)?.status === 'True',
  );
  return {
    namespace: object.metadata.namespace ?? '',
    name: object.metadata.name ?? '',
    phase: status.phase ?? 'Pending',
    ready: isReady,
    notReady: isReady ? [] : [ready?.message ?? NOT_LOOKED_AT],
    generations: generations.map(({ trustedUntil, trustedFor, ...one }) => ({
      ...one,
      ...(trustedUntil === undefined ? {} : { trustedUntil }),
      ...(trustedFor === undefined ? {} : { trustedFor }),
    })),
    bundleHash: status.bundleHash,
    blockedBy,
    leaves: leaves.filter((leaf) => authorityOf(leaf) === idOf(object)).map(leafReport),
    consumers: consumers.map(({ name, kind, evidence, remark, serves }) => ({
      name,
      kind,
      evidence: (evidence as AuthorityStatus['consumers'][number]['evidence'] | undefined) ?? null,
      stands: standsOn(evidence),
      hash: null,
      at: null,
      shows: [],
      ...(remark === undefined && serves === undefined
        ? {}
        : { remark: [remark, serves].filter((text) => text !== undefined).join('; ') }),
    })),
    evidence: countEvidence(consumers.map(({ evidence = null }) => [evidence, 1])),
    restsOnTime: [],
    hooks: [],
    wakeAt: null,
    dueAt: null,
    expiring: expiring ?? null,
    notes,
    next: status.next ?? [],
    history: history.map(({ via, manager, ...step }) => ({
      ...(step as Pick<typeof step, 'at' | 'generations' | 'why'> & { readonly step: 'mint' }),
      revision: 0,
      ...(via === undefined
        ? {}
        : { askedBy: { via: via as 'request', ...(manager === undefined ? {} : { manager }) } }),
    })),
    rotations: status.rotations ?? [],
  };
};

/** A cluster as those see it who may read our resources, and no Secret. */
export class PublicView {
  readonly #kube: Kube;
  readonly #signal: AbortSignal;

  constructor(kube: Kube, signal: AbortSignal) {
    this.#kube = kube;
    this.#signal = signal;
  }

  /** Of one namespace, or of all. */
  async #list(kind: ResourceName, namespace: string | undefined): Promise<readonly KubeObject[]> {
    const where = namespace === undefined ? {} : { namespace };
    const { items } = await this.#kube.list(RESOURCE_KINDS[kind], where, { signal: this.#signal });
    return items;
  }

  /** What has no namespace may be out of sight of an account of one namespace. */
  async #visible(kind: ResourceName, namespace: string | undefined): Promise<readonly KubeObject[]> {
    try {
      return await this.#list(kind, namespace);
    } catch (error) {
      if (isCode(error, 'KUBE_FORBIDDEN')) return [];
      throw error;
    }
  }

  async authority(id: AuthorityId): Promise<PublicAuthority> {
    const [namespace = '', name = ''] = id.split('/');
    const which = { namespace, name };
    const found = await this.#kube.get(RESOURCE_KINDS.Authority, which, { signal: this.#signal });
    if (found === undefined)
      throw new OperatorError(
        'AUTHORITY_UNKNOWN',
        `there is no Authority ${id}; see kubectl get authorities -A`,
        {
          path: id,
        },
      );
    return authorityIn(found, await this.#visible('Leaf', namespace));
  }

  async status(
    only: AuthorityId | undefined,
  ): Promise<Status & { readonly authorities: readonly PublicAuthority[] }> {
    if (only !== undefined) {
      const authority = await this.authority(only);
      return {
        authorities: [authority],
        unusable: [],
        wrong: authority.ready ? [] : authority.notReady.map((why) => `Authority ${only}: ${why}`),
        trustBundles: [],
        tlsProfiles: [],
        remarks: [REMARK],
        run: null,
      };
    }
    const all = await this.#list('Authority', undefined);
    const leaves = await this.#list('Leaf', undefined);
    const bundles = await this.#visible('TrustBundle', undefined);
    const profiles = await this.#visible('TLSProfile', undefined);
    const unusable = [
      ...unusableIn('Authority', all),
      ...unusableIn('Leaf', leaves),
      ...unusableIn('TrustBundle', bundles),
      ...unusableIn('TLSProfile', profiles),
    ];
    const isUsable = (object: KubeObject): boolean => !unusable.some(({ id }) => id === idOf(object));
    const authorities = all.filter(isUsable).map((object) => {
      const { history: _history, ...authority } = authorityIn(object, leaves);
      return authority;
    });
    const notReady = authorities.flatMap(({ namespace, name, notReady: reasons }) =>
      reasons.map((why) => `Authority ${namespace}/${name}: ${why}`),
    );
    return {
      authorities,
      unusable,
      run: null,
      wrong: [...unusable.map(unusableLine), ...notReady],
      trustBundles: bundles
        .filter(isUsable)
        .map((bundle) => ({ name: idOf(bundle), targets: [], hook: null })),
      tlsProfiles: profiles.filter(isUsable).map((profile) => {
        const {
          type = '',
          hash,
          problems = [],
        } = statusIn<{
          readonly type: string;
          readonly hash: string;
          readonly problems: readonly string[];
        }>(profile);
        const { namespace = '', name = '' } = profile.metadata;
        return { namespace, name, type, hash: hash ?? null, written: hash !== undefined, problems };
      }),
      remarks: [REMARK],
    };
  }

  /** Asks for a rotation, by the annotation on the Authority. */
  rotate(id: AuthorityId, rotation: string): Promise<void> {
    checkRotationId(rotation);
    return this.#ask(id, ROTATE, rotation, ({ rotations = [] }, one) => rotations.includes(one));
  }

  /** Asks for a distrust, by the annotation on the Authority. */
  distrust(id: AuthorityId, generation: number): Promise<void> {
    return this.#ask(id, DISTRUST, String(generation), ({ generations = [] }, one) =>
      generations.every(({ generation: number, role }) => String(number) !== one || role === 'distrusted'),
    );
  }

  /** Takes back rotations that have not begun. Returns their ids. */
  async drop(id: AuthorityId): Promise<readonly string[]> {
    let dropped: readonly string[] = [];
    const change = (known: readonly string[], authority: KubeObject | undefined) => {
      const { rotations = [] } = authority === undefined ? {} : statusIn<AuthorityResourceStatus>(authority);
      const left = withoutQueued(known, (one) => rotations.includes(one));
      dropped = left.dropped;
      return left.wanted;
    };
    await changeRequests(this.#kube, id, ROTATE, change, this.#signal);
    return dropped;
  }

  #ask(
    id: AuthorityId,
    annotation: string,
    wish: string,
    isTaken: (status: Partial<AuthorityResourceStatus>, wish: string) => boolean,
  ): Promise<void> {
    const change = (known: readonly string[], authority: KubeObject | undefined) => {
      const status = authority === undefined ? {} : statusIn<AuthorityResourceStatus>(authority);
      return known.includes(wish) ? undefined : withRequest(known, wish, (one) => isTaken(status, one));
    };
    return changeRequests(this.#kube, id, annotation, change, this.#signal);
  }
}
