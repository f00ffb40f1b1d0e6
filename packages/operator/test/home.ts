import { parseResources } from '@handover/core';
import type { Kube } from '@handover/kube';
import { KubeHome } from '../src/home/home.ts';
import { kindsWith } from '../src/objects/kinds.ts';
import type { Plural } from '../src/objects/place.ts';
import { GivenResources } from '../src/resources/declarations.ts';

/** One of our resources as it stands in a file. */
export const resourceIn = (
  namespace: string,
  kind: string,
  name: string,
  spec: object = {},
): Parameters<typeof parseResources>[0][number] => ({
  value: { apiVersion: 'handover.dev/v1alpha1', kind, metadata: { name, namespace }, spec },
  where: name,
});

export interface HomeOn {
  readonly kube: Kube;
  readonly signal: AbortSignal;
  /** Where authorities lie, and trust. */
  readonly namespace: string;
  /** Kinds that are watched in every namespace. */
  readonly wide?: readonly Plural[];
  readonly resources: Parameters<typeof parseResources>[0] | GivenResources;
}

/** A home on an API server with these resources, of which nothing else reads or writes anything. */
export const homeOn = ({ kube, signal, namespace, wide = [], resources }: HomeOn): KubeHome => {
  const home = new KubeHome({
    connection: { kube, signal },
    scope: { kinds: kindsWith({ version: 'v1' }), namespace, trustNamespace: namespace, wide },
    resources: {
      declarations:
        resources instanceof GivenResources ? resources : new GivenResources(parseResources(resources)),
      clusterTrustBundles: () => false,
      injectionOf: undefined,
      takeOver: false,
    },
    consumers: { found: false },
  });
  home.start(signal);
  return home;
};
