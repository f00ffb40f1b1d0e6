import { createHash } from 'node:crypto';
import { type Kube, kindOf } from '@handover/kube';
import { HandoverError, type Instant } from '@handover/material';
import { kindsWith } from '../home/kinds.ts';
import type { Refusal } from '../resources/injections.ts';

const events = kindOf('events.k8s.io/v1', 'events', 'Event');
/** An API server forgets events after an hour. */
const AGAIN_MS = 50 * 60_000;
const MOST_TOLD = 5_000;
const LONGEST_NOTE = 1_000;

export interface RefusalsOptions {
  readonly kube: Kube;
  readonly identity: string;
  readonly signal: AbortSignal;
  readonly onRefusal: (object: string, why: string) => void;
  readonly onError: (what: string, error: unknown) => void;
}

const kinds = kindsWith('v1');
const keyOf = ({ held }: Refusal): string => `${held.plural}/${held.name}`;
const microTime = (at: Instant): string => new Date(at).toISOString().replace('Z', '000Z');

/** Says why something is not injected: once in the log, and as an Event that `kubectl describe` shows beside the object. */
export class Refusals {
  readonly #options: RefusalsOptions;
  readonly #told = new Map<string, { readonly why: string; readonly at: Instant }>();

  constructor(options: RefusalsOptions) {
    this.#options = options;
  }

  async tell(refusals: readonly Refusal[], now: Instant): Promise<void> {
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

  async #write({ held, why }: Refusal, now: Instant): Promise<void> {
    const { kube, identity, signal, onError } = this.#options;
    const { group, version, kind } = kinds[held.plural];
    const id = createHash('sha256').update(`${held.uid} ${why} ${now}`).digest('hex').slice(0, 16);
    // Events about what has no namespace lie in default: kubectl looks there.
    const namespace = held.namespace ?? 'default';
    try {
      await kube.create(
        events,
        {
          metadata: { namespace, name: `${held.name.slice(0, 200)}.${id}` },
          eventTime: microTime(now),
          reportingController: 'handover.dev/operator',
          reportingInstance: identity.slice(0, 128),
          action: 'Inject',
          reason: 'NotInjected',
          type: 'Warning',
          note: why.slice(0, LONGEST_NOTE),
          regarding: {
            apiVersion: group === '' ? version : `${group}/${version}`,
            kind,
            name: held.name,
            uid: held.uid,
            ...(held.namespace === undefined ? {} : { namespace }),
          },
        },
        { namespace, signal },
      );
    } catch (error) {
      // The log has said it; an Event is a courtesy.
      if (!(error instanceof HandoverError)) throw error;
      if (!signal.aborted) onError(`event about ${held.plural}/${held.name}`, error);
    }
  }
}
