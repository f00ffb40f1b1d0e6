export { HandoverError } from '@handover/material';
export {
  type EmbedAuthority,
  type EmbedEvent,
  type EmbedInjection,
  type EmbedLeaf,
  type EmbedOptions,
  type EmbedSpec,
  embed,
  type Own,
} from '@handover/operator';
