import type { Compat, TrustBundle } from '@handover/core';
import { type Catalogue, type ObjectId, type ObjectRecord, targetsOf } from '@handover/engine';
import type { Kube } from '@handover/kube';
import type { Budget } from '../cache/budget.ts';
import type { KubeHome } from '../home/home.ts';
import { placeOf } from '../objects/place.ts';
import { type InjectionOf, ownInjection } from '../resources/injections.ts';
import type { More } from '../resources/resolved-resources.ts';
import { cainjectorInjection } from './cainjector.ts';
import { FollowedCainjectorInputs } from './cainjector-inputs.ts';
import { ForeignBundles } from './foreign-bundle.ts';
import { secretAnnotations, serviceCaInjection } from './service-ca.ts';
import { FollowedServices } from './services.ts';
import { type BundleOptions, FollowedBundles } from './trust-manager/followed-bundles.ts';

export interface CompatibilityOptions {
  readonly kube: Kube;
  readonly budget?: Budget | undefined;
  /** Programs whose annotations are honoured beside our own. */
  readonly compat: readonly Compat[];
  readonly serviceCaAuthority: string | undefined;
  /** Where a running cainjector counts. */
  readonly cainjectorNamespace: string;
  readonly takeOver: boolean;
  /** For trust-manager's Bundles. */
  readonly bundles: BundleOptions;
  readonly onChange: () => void;
}

/** Injection by annotation, our own and those of the programs that --compat names; and trust-manager's Bundles. */
export class Compatibility {
  readonly injectionOf: InjectionOf;
  /** With service-ca's annotations. */
  readonly services: FollowedServices | undefined;
  readonly more: (() => More) | undefined;
  /** With trust-manager's resources. */
  readonly bundles: FollowedBundles | undefined;
  readonly #followed: (FollowedCainjectorInputs | FollowedServices | FollowedBundles)[] = [];
  readonly #foreign = new ForeignBundles();

  constructor(options: CompatibilityOptions) {
    const { kube, budget, compat, serviceCaAuthority, takeOver, onChange } = options;
    const injections: InjectionOf[] = [ownInjection];
    if (compat.includes('cainjector')) {
      const inputs = new FollowedCainjectorInputs({
        kube,
        budget,
        takeOver,
        namespace: options.cainjectorNamespace,
        onChange,
      });
      injections.push(cainjectorInjection(inputs));
      this.#followed.push(inputs);
    }
    if (compat.includes('service-ca') && serviceCaAuthority !== undefined) {
      const services = new FollowedServices({ kube, budget, authority: serviceCaAuthority, onChange });
      injections.push(serviceCaInjection(serviceCaAuthority));
      this.#followed.push(services);
      this.services = services;
      this.more = () => ({
        ...services.leaves(),
        configMaps: services.configMaps,
        authority: serviceCaAuthority,
      });
    }
    if (compat.includes('trust-manager')) {
      this.bundles = new FollowedBundles(kube, options.bundles, takeOver, budget);
      this.#followed.push(this.bundles);
    }
    this.injectionOf = firstOf(injections);
  }

  /** Follows what the annotations refer to until `signal`; resolves once all of it is known. */
  async start(signal: AbortSignal): Promise<void> {
    await Promise.all(this.#followed.map((followed) => followed.start(signal)));
  }

  /** What service-ca writes beside a certificate. */
  annotationsOf(id: ObjectId, record: ObjectRecord): Readonly<Record<string, string>> | undefined {
    const service = this.services?.behind(id);
    return service === undefined ? undefined : secretAnnotations(service, record);
  }

  /** Keeps what was injected from a source in other hands: everywhere, or in `objects` alone. */
  async reconcile(
    bundle: TrustBundle,
    home: KubeHome,
    catalogue: Catalogue,
    objects: readonly ObjectId[] = targetsOf(bundle, catalogue),
  ): Promise<void> {
    await this.#foreign.reconcile(bundle, {
      objects,
      home,
      snapshot: await home.cached(),
      held: (place) => home.ownWrites.held(place),
      inherited: async (id) => (await home.ownWrites.held(placeOf(id)))?.keeper !== undefined,
    });
  }
}

/** Our own annotation comes first: it was written for Handover. */
const firstOf =
  (injections: readonly InjectionOf[]): InjectionOf =>
  async (held, around) => {
    for (const injectionOf of injections) {
      const wish = await injectionOf(held, around);
      if (wish !== undefined) return wish;
    }
    return undefined;
  };
