// The whole surface of `handover`; compiled and never run.
import { createServer } from 'node:https';
import {
  type EmbedAuthority,
  type EmbedEvent,
  type EmbedInjection,
  type EmbedLeaf,
  type EmbedOptions,
  type EmbedSpec,
  embed,
  HandoverError as HandoverErrorOfCommand,
  type Own,
} from 'handover';

export type Every = [EmbedAuthority, EmbedInjection, EmbedLeaf];

export async function own(options: EmbedOptions): Promise<Own> {
  const spec: EmbedSpec = {
    authority: { name: 'my-webhook', rotation: { strategy: 'Phased', reloadWithin: '3m' } },
    leaf: { name: 'my-webhook', dnsNames: ['my-webhook.my-webhook.svc'] },
    inject: [{ kind: 'ValidatingWebhookConfiguration', name: 'my-webhook' }],
  };
  const on = (event: EmbedEvent): void => {
    if (event.kind === 'acted') console.log(event.phase, event.did.join(' '));
    if (event.kind === 'failed') console.log(event.what, event.error, event.retryAt?.toFixed());
    // @ts-expect-error what it was decided on has keys in it
    if (event.kind === 'rested') event.observation;
  };
  // @ts-expect-error an Ingress has no caBundle
  await embed({ ...spec, inject: [{ kind: 'Ingress', name: 'a' }] }, options);
  const own = await embed(spec, { ...options, on, onRequest: ({ verb, ms }) => `${verb} ${ms.toFixed()}` });
  own.identity.serve(createServer());
  await own.ready;
  const words: readonly string[] = own.waitingFor();
  await own.ended;
  console.log(words);
  return own;
}

export const codes = (error: unknown): string | undefined =>
  error instanceof HandoverErrorOfCommand ? error.code : undefined;
