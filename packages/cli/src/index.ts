export { HandoverError } from '@handover/material';
export {
  type EmbedAuthority,
  type EmbedInjection,
  type EmbedLeaf,
  type EmbedOptions,
  type EmbedSpec,
  embed,
  type OperatorEvent,
  type Own,
} from '@handover/operator';
