import type { KubeObject } from '@handover/kube';

/** A Namespace, to be created or applied. */
export const namespaceObject = (name: string, labels?: Readonly<Record<string, string>>): KubeObject => ({
  apiVersion: 'v1',
  kind: 'Namespace',
  metadata: { name, ...(labels === undefined ? {} : { labels }) },
});
