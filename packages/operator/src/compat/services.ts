import type { Leaf } from '@handover/core';
import type { ObjectId } from '@handover/engine';
import { configMaps, Informer, type Kube, type KubeObject, services } from '@handover/kube';
import { HandoverError } from '@handover/material';
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

export interface ServicesOptions {
  readonly kube: Kube;
  readonly authority: string;
  readonly onChange: () => void;
}

/** Services and ConfigMaps that carry service-ca's annotations, followed; of all others nothing is kept. */
export class FollowedServices {
  readonly #authority: string;
  readonly #services: Informer<KubeObject, ServiceSeen>;
  readonly #configMaps: Informer<KubeObject, Place>;

  constructor({ kube, authority, onChange }: ServicesOptions) {
    this.#authority = authority;
    this.#services = new Informer<KubeObject, ServiceSeen>(kube, services, {
      project: serviceSeen,
      indexes: { secret: (service) => [secretIdOf(service)] },
    });
    this.#configMaps = new Informer<KubeObject, Place>(kube, configMaps, {
      metadataOnly: true,
      project: ({ metadata: { namespace, name = '', annotations } }) =>
        wantsBundle(annotations) ? { plural: 'configmaps', namespace, name, part: BUNDLE_KEY } : undefined,
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
