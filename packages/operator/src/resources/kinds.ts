import { API_VERSION, type Kind as ResourceName } from '@handover/core';
import { kindOf, type ResourceKind } from '@handover/kube';

/** Our own kinds on an API server. */
export const RESOURCE_KINDS: Readonly<Record<ResourceName, ResourceKind>> = {
  Authority: kindOf(API_VERSION, 'authorities', 'Authority'),
  Leaf: kindOf(API_VERSION, 'leaves', 'Leaf'),
  TrustBundle: kindOf(API_VERSION, 'trustbundles', 'TrustBundle', false),
  TLSProfile: kindOf(API_VERSION, 'tlsprofiles', 'TLSProfile'),
};
