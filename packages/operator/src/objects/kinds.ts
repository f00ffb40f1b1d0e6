import {
  apiServices,
  clusterTrustBundles,
  configMaps,
  customResourceDefinitions,
  type KubeReader,
  mutatingWebhookConfigurations,
  type ResourceKind,
  secrets,
  validatingWebhookConfigurations,
} from '@handover/kube';
import type { Plural } from './place.ts';

export type Kinds = Readonly<Record<Plural, ResourceKind>>;

/** ClusterTrustBundles are of another version from cluster to cluster, and absent from most. */
export const kindsWith = (trustBundleVersion: string): Kinds => ({
  secrets,
  configmaps: configMaps,
  clustertrustbundles: clusterTrustBundles(trustBundleVersion),
  apiservices: apiServices,
  validatingwebhookconfigurations: validatingWebhookConfigurations,
  mutatingwebhookconfigurations: mutatingWebhookConfigurations,
  customresourcedefinitions: customResourceDefinitions,
});

/** Plurals of which only what carries our label is of interest. */
export const isLabelled = (plural: Plural): boolean => plural === 'secrets' || plural === 'configmaps';

/** Which version of ClusterTrustBundles there is; undefined: none. */
export async function trustBundleVersion(kube: KubeReader, signal: AbortSignal): Promise<string | undefined> {
  for (const version of ['v1', 'v1beta1', 'v1alpha1'])
    if (await kube.serves('certificates.k8s.io', version, 'clustertrustbundles', { signal })) return version;
  return undefined;
}
