import { API_VERSION, type Authority, type Leaf, parseResource, type TrustBundle } from '@handover/core';
import { OperatorError } from '../error.ts';
import type { EmbedSpec } from './spec.ts';

export interface OwnResources {
  readonly authority: Authority;
  readonly leaf: Leaf;
  readonly bundle: TrustBundle;
}

/** The caller's options as resources, checked by the same rules as YAML. */
export const ownResources = ({ authority, leaf, inject }: EmbedSpec, own: string): OwnResources => {
  if (inject.length === 0)
    throw new OperatorError(
      'OPTION_INVALID',
      'embed: inject names no object; name the webhook configuration, APIService or CRD that this server is behind',
    );
  const { name, namespace = own, ...authoritySpec } = authority;
  const { name: leafName, namespace: leafNamespace = namespace, ...leafSpec } = leaf;
  const parse = (kind: string, metadata: object, spec: object): unknown =>
    parseResource({ apiVersion: API_VERSION, kind, metadata, spec }, `embed: ${kind}`);
  return {
    authority: parse('Authority', { name, namespace }, authoritySpec) as Authority,
    leaf: parse(
      'Leaf',
      { name: leafName, namespace: leafNamespace },
      { usages: ['server'], ...leafSpec, authority: `${namespace}/${name}` },
    ) as Leaf,
    bundle: parse(
      'TrustBundle',
      { name },
      {
        sources: [{ authority: `${namespace}/${name}` }],
        targets: inject.map((target) => ({ inject: target })),
      },
    ) as TrustBundle,
  };
};
