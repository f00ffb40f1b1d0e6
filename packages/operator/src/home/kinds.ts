import {
  apiServices,
  clusterTrustBundles,
  configMaps,
  customResourceDefinitions,
  type Kind,
  mutatingWebhookConfigurations,
  secrets,
  validatingWebhookConfigurations,
} from '@handover/kube';
import type { Plural } from './place.ts';

export type Kinds = Readonly<Record<Plural, Kind>>;

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
