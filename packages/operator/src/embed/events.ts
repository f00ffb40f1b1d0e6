import type { IssuedEntry } from '@handover/engine';

/**
 * Actions and failures of an embedded CA, in words for any log. Holds no keys.
 *
 * @example
 * ```ts
 * import { type EmbedEvent, type EmbedSpec, embed } from 'handover';
 *
 * const spec: EmbedSpec = {
 *   authority: { name: 'my-webhook' },
 *   leaf: { name: 'my-webhook', dnsNames: ['my-webhook.default.svc'] },
 *   inject: [{ kind: 'ValidatingWebhookConfiguration', name: 'my-webhook' }],
 * };
 * const stop = new AbortController();
 * const on = (event: EmbedEvent) => {
 *   if (event.kind === 'started') console.log('started'); // started
 *   if (event.kind === 'failed') console.error(`${event.what}: ${String(event.error)}`);
 * };
 * await embed(spec, { signal: stop.signal, on });
 * stop.abort();
 * ```
 */
export type EmbedEvent =
  | { readonly kind: 'started'; readonly identity: string }
  | { readonly kind: 'leading'; readonly held: boolean }
  | {
      readonly kind: 'acted';
      readonly authority: string;
      readonly phase: string;
      /** Each with its reason. */
      readonly did: readonly string[];
    }
  | {
      readonly kind: 'rested';
      readonly authority: string;
      readonly phase: string;
      /** What the next step waits for; empty: nothing is left to do. */
      readonly waitsFor: readonly string[];
    }
  /** A certificate was made; nothing holds it yet. Write it down where you keep an audit trail. */
  | { readonly kind: 'issued'; readonly entry: IssuedEntry }
  | { readonly kind: 'repaired'; readonly object: string; readonly manager: string }
  /** What cannot be written now, and why; empty: everything can again. Said when it changes. */
  | { readonly kind: 'obstructed'; readonly authority: string; readonly obstacles: readonly string[] }
  | { readonly kind: 'refused'; readonly object: string; readonly why: string }
  | {
      readonly kind: 'failed';
      readonly what: string;
      readonly error: unknown;
      /** Milliseconds since 1970; undefined: when something changes. */
      readonly retryAt: number | undefined;
    };
