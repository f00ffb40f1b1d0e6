import { SERVICE_CA } from '@handover/core';
import { idOf, type Observation } from '@handover/engine';
import { type Kube, services } from '@handover/kube';
import { HandoverError, type Instant, printable } from '@handover/material';
import { FIELD_MANAGER } from '../objects/record.ts';
import type { ResolvedResources } from '../resources/resolved-resources.ts';
import { leafIdOf, MOST_ERRORS, type ServiceSeen } from './service-ca.ts';

const LEAST_MS = 5_000;
const MOST_MS = 300_000;

export interface ServiceErrorsOptions {
  readonly kube: Kube;
  readonly signal: AbortSignal;
  readonly onError: (what: string, error: unknown) => void;
}

/** Says on a Service why it has no certificate, and how often that was so: service-ca's own annotations. */
export class ServiceErrors {
  readonly #options: ServiceErrorsOptions;
  readonly #next = new Map<string, Instant>();

  constructor(options: ServiceErrorsOptions) {
    this.#options = options;
  }

  /** `errors`: by the id of the Service's Leaf. */
  async tell(all: readonly ServiceSeen[], errors: ReadonlyMap<string, string>, now: Instant): Promise<void> {
    for (const service of all) {
      const error = errors.get(leafIdOf(service));
      if (service.errors >= MOST_ERRORS || this.#options.signal.aborted) continue;
      if (error === undefined) {
        this.#next.delete(service.uid);
        if (service.error !== undefined) await this.#write(service, {});
        continue;
      }
      const next = this.#next.get(service.uid);
      if (next !== undefined && now < next) continue;
      const count = service.errors + 1;
      this.#next.set(service.uid, (now + Math.min(LEAST_MS * 2 ** (count - 1), MOST_MS)) as Instant);
      await this.#write(service, {
        [SERVICE_CA.error]: printable(error.slice(0, 1_000)),
        [SERVICE_CA.errorNum]: String(count),
      });
    }
  }

  /** Apply takes away what it no longer mentions. The uid keeps it from making a Service that has gone. */
  async #write(
    { namespace, name, uid }: ServiceSeen,
    annotations: Readonly<Record<string, string>>,
  ): Promise<void> {
    const { kube, signal, onError } = this.#options;
    try {
      await kube.patch(
        services,
        { namespace, name },
        {
          apply: { apiVersion: 'v1', kind: 'Service', metadata: { namespace, name, uid, annotations } },
          fieldManager: `${FIELD_MANAGER}-service-ca`,
          force: true,
          signal,
        },
      );
    } catch (error) {
      if (!(error instanceof HandoverError)) throw error;
      if (!signal.aborted) onError(`Service ${namespace}/${name}`, error);
    }
  }
}

/** Why Leaves of an authority have no certificate, by `namespace/name`. */
export const errorsOf = (
  resolved: ResolvedResources,
  { responsibilities, seen }: Observation,
): ReadonlyMap<string, string> => {
  const errors = new Map(resolved.leafProblems);
  for (const { leaf, why } of responsibilities.refused) errors.set(leaf, why);
  for (const { id, obstacle } of seen.objects) {
    const leaf = responsibilities.leaves.get(id);
    if (leaf !== undefined && obstacle !== undefined)
      errors.set(idOf(leaf), `Secret ${leaf.spec.secretName}: ${obstacle}`);
  }
  return errors;
};
