import { events, type Kube } from '@handover/kube';
import { HandoverError, type Instant } from '@handover/material';
import { eventOf, namespaceOf } from '../events/event.ts';
import { kindsWith } from '../objects/kinds.ts';
import type { InjectionRefusal } from '../resources/injections.ts';

/** An API server forgets events after an hour. */
const AGAIN_MS = 50 * 60_000;
const MOST_TOLD = 5_000;

export interface RefusalsOptions {
  readonly kube: Kube;
  readonly identity: string;
  readonly signal: AbortSignal;
  readonly onRefusal: (object: string, why: string) => void;
  readonly onError: (what: string, error: unknown) => void;
}

const kinds = kindsWith({ version: undefined });
const keyOf = ({ held }: InjectionRefusal): string => `${held.plural}/${held.name}`;

/** Says why something is not injected: once in the log, and as an Event that `kubectl describe` shows beside the object. */
export class Refusals {
  readonly #options: RefusalsOptions;
  readonly #told = new Map<string, { readonly why: string; readonly at: Instant }>();

  constructor(options: RefusalsOptions) {
    this.#options = options;
  }

  async tell(refusals: readonly InjectionRefusal[], now: Instant): Promise<void> {
    const current = new Set(refusals.map(keyOf));
    for (const key of this.#told.keys()) if (!current.has(key)) this.#told.delete(key);
    for (const refusal of refusals) {
      if (this.#options.signal.aborted) return;
      const key = keyOf(refusal);
      const before = this.#told.get(key);
      const changed = before?.why !== refusal.why;
      if (!changed && now < before.at + AGAIN_MS) continue;
      if (this.#told.size >= MOST_TOLD && before === undefined) return;
      this.#told.set(key, { why: refusal.why, at: now });
      if (changed) this.#options.onRefusal(key, refusal.why);
      await this.#write(refusal, now);
    }
  }

  async #write({ held, why }: InjectionRefusal, now: Instant): Promise<void> {
    const { kube, identity, signal, onError } = this.#options;
    const { group, version, kind } = kinds[held.plural];
    const regarding = {
      apiVersion: group === '' ? version : `${group}/${version}`,
      kind,
      namespace: held.namespace,
      name: held.name,
      uid: held.uid,
    };
    const happening = { type: 'Warning', reason: 'NotInjected', action: 'Inject', note: why } as const;
    try {
      const namespace = namespaceOf(regarding);
      await kube.create(events, eventOf(regarding, happening, identity, now), { namespace, signal });
    } catch (error) {
      // The log has said it; an Event is a courtesy.
      if (!(error instanceof HandoverError)) throw error;
      if (!signal.aborted) onError(`event about ${held.plural}/${held.name}`, error);
    }
  }
}
