import type { Leaf } from '@handover/core';
import type { ObjectId } from '@handover/engine';
import { configMaps, type Kube, type KubeObject, services } from '@handover/kube';
import { HandoverError } from '@handover/material';
import type { Budget } from '../cache/budget.ts';
import { Projection } from '../cache/projection.ts';
import { Watched } from '../cache/watched.ts';
import type { Place } from '../objects/place.ts';
import {
  BUNDLE_KEY,
  leafIdOf,
  leafOf,
  MOST_ERRORS,
  type ServiceSeen,
  serviceSeen,
  wantsBundle,
} from './service-ca.ts';

/** One that there is no room for gets no certificate. */
export const SERVICES = new Projection<KubeObject, ServiceSeen>('Service that asks for a certificate', {
  keep: serviceSeen,
});
export const CONFIG_MAPS = new Projection<KubeObject, Place>('ConfigMap that asks for a bundle', {
  keep: ({ metadata: { namespace, name = '', annotations } }) =>
    wantsBundle(annotations) ? { plural: 'configmaps', namespace, name, part: BUNDLE_KEY } : undefined,
});

export interface ServicesOptions {
  readonly kube: Kube;
  readonly budget?: Budget | undefined;
  readonly authority: string;
  readonly onChange: () => void;
}

/** Services and ConfigMaps that carry service-ca's annotations, followed; of all others nothing is kept. */
export class FollowedServices {
  readonly #authority: string;
  readonly #services: Watched<KubeObject, ServiceSeen>;
  readonly #configMaps: Watched<KubeObject, Place>;

  constructor({ kube, budget, authority, onChange }: ServicesOptions) {
    this.#authority = authority;
    this.#services = new Watched<KubeObject, ServiceSeen>(kube, services, {
      projection: SERVICES,
      budget,
      indexes: { secret: (service) => [secretIdOf(service)] },
    });
    this.#configMaps = new Watched<KubeObject, Place>(kube, configMaps, {
      metadataOnly: true,
      projection: CONFIG_MAPS,
      budget,
    });
    this.#services.on('changed', ({ before, after }) => {
      if (injectionIn(before) !== injectionIn(after)) onChange();
    });
    this.#configMaps.on('changed', ({ before, after }) => {
      if ((before === undefined) !== (after === undefined)) onChange();
    });
  }

  /** Follows them until `signal`; resolves once all are known. */
  async start(signal: AbortSignal): Promise<void> {
    await Promise.all([this.#services, this.#configMaps].map((informer) => informer.start(signal).ready));
  }

  all(): readonly ServiceSeen[] {
    return this.#services.list();
  }

  get configMaps(): readonly Place[] {
    return this.#configMaps.list();
  }

  /** The Leaves that Services ask for, and why some cannot be. */
  leaves(): { readonly leaves: readonly Leaf[]; readonly problems: ReadonlyMap<string, string> } {
    const leaves: Leaf[] = [];
    const problems = new Map<string, string>();
    for (const service of this.all()) {
      if (service.errors >= MOST_ERRORS) continue;
      try {
        leaves.push(leafOf(service, this.#authority));
      } catch (error) {
        if (!(error instanceof HandoverError)) throw error;
        problems.set(leafIdOf(service), error.message);
      }
    }
    return { leaves, problems };
  }

  /** The Service whose certificate a Secret holds. */
  behind(object: ObjectId): ServiceSeen | undefined {
    return this.#services.by('secret', object).find(({ errors }) => errors < MOST_ERRORS);
  }
}

const secretIdOf = ({ namespace, secretName }: ServiceSeen): ObjectId => `${namespace}/secrets/${secretName}`;

/** What of a Service decides which Leaf there is; our own notes of errors do so only when it is given up. */
const injectionIn = (service: ServiceSeen | undefined): string =>
  service === undefined
    ? ''
    : JSON.stringify([service.uid, service.secretName, service.headless, service.errors >= MOST_ERRORS]);
