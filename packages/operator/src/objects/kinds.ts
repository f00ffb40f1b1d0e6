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

/** v1 since Kubernetes 1.37; v1beta1, off by default, since 1.33. */
const VERSIONS = ['v1', 'v1beta1'] as const;
const [NEWEST] = VERSIONS;

/** What a cluster without ClusterTrustBundles lacks, in words. */
export const NO_TRUST_BUNDLES = `this API server does not serve ClusterTrustBundles (certificates.k8s.io/${VERSIONS.join(' or ')}); switch the API on, or leave the target out`;

export type Kinds = Readonly<Record<Plural, ResourceKind>>;

/** Which version of ClusterTrustBundles the API server serves now; undefined: none. */
export interface TrustBundleApi {
  readonly version: string | undefined;
}

/** The version of ClusterTrustBundles may change while we run; it is looked up at each use. */
export const kindsWith = (trustBundles: TrustBundleApi): Kinds => ({
  secrets,
  configmaps: configMaps,
  get clustertrustbundles() {
    return clusterTrustBundles(trustBundles.version ?? NEWEST);
  },
  apiservices: apiServices,
  validatingwebhookconfigurations: validatingWebhookConfigurations,
  mutatingwebhookconfigurations: mutatingWebhookConfigurations,
  customresourcedefinitions: customResourceDefinitions,
});

/** Plurals of which only what carries our label is of interest. */
export const isLabelled = (plural: Plural): boolean => plural === 'secrets' || plural === 'configmaps';

/** Asks which version of ClusterTrustBundles there is; undefined: none. */
export async function trustBundleVersion(kube: KubeReader, signal: AbortSignal): Promise<string | undefined> {
  for (const version of VERSIONS)
    if (await kube.serves('certificates.k8s.io', version, 'clustertrustbundles', { signal })) return version;
  return undefined;
}
