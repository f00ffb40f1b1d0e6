import { authorityOfSigner, injectableOf, TLS_PROFILE_HASH } from '@handover/core';
import { type AuthorityId, idOf, type Key, keyText, RESOURCES } from '@handover/engine';
import { authorityOfIssuerRef, type CertificateRequest } from '../cert-manager/kinds.ts';
import { nextFor } from '../cert-manager/requests.ts';
import type { KubeHome } from '../home/home.ts';
import { keyOf, type Plural, placeOf } from '../objects/place.ts';
import type { ObjectProjection } from '../objects/projection.ts';
import { decisive, gateOf, type ResolvedResources } from '../resources/resolved-resources.ts';
import type { Pod } from '../workloads/pods.ts';
import { readsAll } from '../workloads/references.ts';
import type { Workload } from '../workloads/workload.ts';
import { affectedAuthorities, type ChangedNamespaces, union } from './affected-authorities.ts';
import type { LeaderSession } from './leader-session.ts';
import type { OperatorOptions } from './operator-options.ts';
import { WorkIndex } from './work-index.ts';

const DEBOUNCE_MS = 20;
const POD_DEBOUNCE_MS = 200;
/** Between passes over an authority that objects of other namespaces call for. */
const ELSEWHERE_MS = 1_000;

export interface Reindexed {
  readonly resolved: ResolvedResources;
  /** What was read before; undefined: nothing. */
  readonly before: ResolvedResources | undefined;
  /** Whether it can make a difference for this work. */
  readonly isAffected: (key: Key) => boolean;
  /** How long that may wait; undefined: it is not affected. */
  readonly waitOf: (key: Key) => number | undefined;
}

const namespaceOf = (id: AuthorityId): string => id.split('/', 1)[0] ?? '';

const readsProfilesAs = (workload: Workload | undefined): string =>
  JSON.stringify(
    workload && [workload.labels, workload.configMaps, workload.annotations[TLS_PROFILE_HASH]],
  ) ?? '';

/** The way from the watches to the queue. Each handler drops what calls for no work, and adds the work that the rest calls for. */
export class EventRouter {
  readonly #options: OperatorOptions;
  #home: KubeHome | undefined;
  #index: WorkIndex | undefined;
  /** As they were read last, and what has changed since. */
  #read: ResolvedResources | undefined;
  #touched: ChangedNamespaces = new Set();
  /** When an object of another namespace last had an authority looked at, or will. */
  readonly #elsewhere = new Map<string, number>();
  /** Called when an Authority signs for pods. */
  onPodsWanted: (() => void) | undefined;
  /** Called when the resources were read again. */
  onResolved: (() => void) | undefined;
  /** Undefined: another replica leads, and does the work. */
  session: LeaderSession | undefined;

  constructor(options: OperatorOptions) {
    this.#options = options;
  }

  follow(home: KubeHome): void {
    this.#home = home;
  }

  /** All work there is; undefined: the resources have not been read yet. */
  get keys(): readonly Key[] | undefined {
    return this.#index?.keys;
  }

  /** The work that writes an object. */
  keepersOf(object: string): readonly Key[] {
    const place = placeOf(object);
    return this.#index?.of(place.plural, keyOf(place)) ?? [];
  }

  /** Reads the resources again. */
  async reindex(home: KubeHome): Promise<Reindexed> {
    const { namespace, scope = {} } = this.#options;
    const { trustNamespace = namespace, declarations } = scope;
    const touched = this.#touched;
    this.#touched = new Set();
    const resolved = await home.resolved().catch((error: unknown) => {
      this.#touched = union(this.#touched, touched);
      throw error;
    });
    // What came meanwhile may be in it or not: it counts now, and again when it is read next.
    const changed = union(this.#touched, touched);
    const before = this.#read;
    this.#read = resolved;
    this.onResolved?.();
    const affected = affectedAuthorities(changed, before, resolved);
    for (const id of this.#elsewhere.keys())
      if (!resolved.catalogue.authorities.has(id)) this.#elsewhere.delete(id);
    if ([...resolved.catalogue.authorities.values()].some(({ spec }) => spec.podCertificates !== undefined))
      this.onPodsWanted?.();
    // A caller that hands resources over has rights to their objects, and to no others.
    this.#index = new WorkIndex(resolved, trustNamespace, declarations === undefined);
    const isAffected = (key: Key): boolean =>
      key.kind !== 'Authority' || affected === 'all' || affected.has(key.id);
    return {
      resolved,
      before,
      isAffected,
      waitOf: (key) => {
        if (!isAffected(key)) return undefined;
        const isTheirs = key.kind !== 'Authority' || changed === 'all' || changed.has(namespaceOf(key.id));
        return isTheirs ? 0 : this.#waitElsewhere(key.id);
      },
    };
  }

  /** `namespace`: only its Leaves, Authorities and TLSProfiles have changed. */
  readonly resourcesChanged = (namespace?: string): void => {
    const home = this.#home;
    if (home === undefined) return;
    this.#touched = union(this.#touched, namespace === undefined ? 'all' : new Set([namespace]));
    home.forget();
    if (this.session !== undefined) this.session.controller.add([RESOURCES], DEBOUNCE_MS);
    else if (this.#index !== undefined) void this.reindex(home).catch(() => {});
  };

  readonly objectChanged = (
    plural: Plural,
    key: string,
    before: ObjectProjection | undefined,
    now: ObjectProjection | undefined,
  ): void => {
    this.#options.onSeen?.();
    const ownWrites = this.#home?.ownWrites;
    ownWrites?.moved(plural, key);
    ownWrites?.unlessOurs(plural, key, now?.version, () => {
      this.#add(plural, key);
    });
    const gate = this.#index?.gate(plural, key);
    const asksOtherwise =
      injectableOf(plural) !== undefined
        ? decisive(before) !== decisive(now)
        : gate !== undefined && gateOf(before, gate) !== gateOf(now, gate);
    if (asksOtherwise) this.resourcesChanged();
  };

  readonly passwordChanged = (secret: string): void => this.#add('secrets', secret);

  #add(plural: Plural, changed: string): void {
    const { session } = this;
    if (session === undefined) return;
    for (const each of this.#index?.of(plural, changed) ?? []) {
      const key = session.drifts.note(each, plural, changed);
      session.controller.add([key], this.#waitOf(key, changed));
    }
  }

  #waitOf(key: Key, changed: string): number {
    const [namespace, name] = changed.split('/');
    if (key.kind !== 'Authority' || name === undefined || namespaceOf(key.id) === namespace) return 0;
    return this.#waitElsewhere(key.id);
  }

  /** A tenant that writes without end has an authority of another namespace looked at once a second. */
  #waitElsewhere(id: AuthorityId): number {
    const now = this.#options.kube.clock.monotonic();
    const last = this.#elsewhere.get(id) ?? Number.NEGATIVE_INFINITY;
    const at = last > now ? last : Math.max(now, last + ELSEWHERE_MS);
    this.#elsewhere.set(id, at);
    return at - now;
  }

  readonly stateChanged = (authority: string): void =>
    this.session?.controller.add(this.#index?.ofState(authority) ?? []);

  /** A pod that comes, goes, or becomes ready may be what a step waits for. */
  readonly podChanged = (before: Pod | undefined, now: Pod | undefined): void => {
    const { namespace, references, signers } = now ??
      before ?? { namespace: '', references: [], signers: [] };
    for (const { signer } of signers) this.podCertified(authorityOfSigner(signer) ?? '');
    const { session } = this;
    const keys = references.flatMap(({ plural, name, signer }) =>
      signer === undefined && !readsAll({ name })
        ? (this.#index?.of(plural, plural === 'clustertrustbundles' ? name : `${namespace}/${name}`) ?? [])
        : [...(session?.moving.values() ?? [])],
    );
    session?.controller.add(
      keys.filter((key) => session.moving.has(keyText(key))),
      POD_DEBOUNCE_MS,
    );
  };

  /** A pod waits for its certificate. */
  readonly podRequested = (request: string): void =>
    this.session?.controller.add([{ kind: 'PodCertificate', id: request }]);

  /** A pod got a certificate, which may be what a step waits for. */
  readonly podCertified = (authority: AuthorityId): void => {
    const key = { kind: 'Authority', id: authority } as const;
    if (this.session?.moving.has(keyText(key)) === true) this.session.controller.add([key], POD_DEBOUNCE_MS);
  };

  readonly workloadChanged = (before: Workload | undefined, now: Workload | undefined): void => {
    const { session } = this;
    if (session === undefined) return;
    session.controller.add(session.moving.values(), POD_DEBOUNCE_MS);
    if (readsProfilesAs(before) === readsProfilesAs(now)) return;
    // Which workloads read a profile, and whether their stamps stand, is in its status also while nothing is rolled out.
    const namespace = (now ?? before)?.namespace;
    const profiles = (this.#read?.catalogue.tlsProfiles ?? []).filter(
      ({ metadata, spec }) => metadata.namespace === namespace && spec.workloadSelector !== undefined,
    );
    session.controller.add(
      profiles.map((profile) => ({ kind: 'TLSProfile', id: idOf(profile) })),
      POD_DEBOUNCE_MS,
    );
  };

  readonly requestChanged = (request: CertificateRequest): void => {
    const { namespace = '', name = '' } = request.metadata;
    if (
      authorityOfIssuerRef(request.spec?.issuerRef, namespace) === undefined ||
      nextFor(request) === 'nothing'
    )
      return;
    this.session?.controller.add([{ kind: 'CertificateRequest', id: `${namespace}/${name}` }]);
  };

  /** A Secret that another program writes may be what a step waits for. */
  readonly externallyHeldChanged = (namespace: string): void => {
    for (const key of this.session?.moving.values() ?? [])
      if (key.kind === 'Authority')
        this.session?.controller.add([key], Math.max(POD_DEBOUNCE_MS, this.#waitOf(key, `${namespace}/`)));
  };

  readonly platformProfileChanged = async (): Promise<void> => {
    const resolved = await this.#home?.resolved().catch(() => undefined);
    const profiles = resolved?.catalogue.tlsProfiles.filter(({ spec }) => spec.type === 'OpenShift') ?? [];
    this.session?.controller.add(profiles.map((profile) => ({ kind: 'TLSProfile', id: idOf(profile) })));
  };
}
