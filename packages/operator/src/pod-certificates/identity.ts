import type { KubeObject } from '@handover/kube';
import { isMap, type Json } from '@handover/material';
import { mapOf } from '../cache/bounds.ts';
import { Projection } from '../cache/projection.ts';
import { signersIn } from '../workloads/pod-signers.ts';
import type { PodRequest } from './request.ts';

/** A Service, as far as it says which pods it stands for. */
export interface ServiceSeen {
  readonly namespace: string;
  readonly name: string;
  readonly selector: Readonly<Record<string, string>>;
}

/** Undefined: it selects no pods by itself, or by more labels than a pod has. No pod gets its name then. */
export const serviceOf = ({ metadata, spec }: KubeObject): ServiceSeen | undefined => {
  if (!isMap(spec) || spec.type === 'ExternalName') return undefined;
  const selector = mapOf(spec.selector);
  if (selector === undefined || Object.keys(selector).length === 0) return undefined;
  return { namespace: metadata.namespace ?? '', name: metadata.name ?? '', selector };
};

/** A Service that there is no room for gives no names: a pod's certificate has fewer then. */
export const SERVICES = new Projection('Service', { keep: serviceOf });

const specOf = (pod: KubeObject): Json => (isMap(pod.spec) ? pod.spec : {});

/** What of a request contradicts the pod itself; undefined: nothing. The request's claims count for nothing more than this. */
export const contradiction = (request: PodRequest, pod: KubeObject): string | undefined => {
  const { serviceAccountName = 'default', nodeName } = specOf(pod);
  if (pod.metadata.uid !== request.pod.uid) return 'there is another pod of that name by now';
  if (nodeName !== request.node) return `the pod is not on node ${request.node}`;
  if (serviceAccountName !== request.serviceAccount)
    return `the pod does not run as service account ${request.serviceAccount}`;
  if (!signersIn(pod).some(({ signer }) => signer === request.signer))
    return `the pod has no podCertificate volume of signer ${request.signer}`;
  return undefined;
};

export interface Names {
  readonly dnsNames: readonly string[];
  readonly uris: readonly string[];
}

const CLUSTER_DOMAIN = 'cluster.local';

/** Names that a pod has a claim to: its service account's SPIFFE id, and those of the Services that select it. */
export const namesOf = (pod: KubeObject, services: readonly ServiceSeen[], trustDomain: string): Names => {
  const { namespace = '', labels = {} } = pod.metadata;
  const { serviceAccountName = 'default', hostname, subdomain } = specOf(pod);
  const selecting = services
    .filter(
      ({ namespace: place, selector }) =>
        place === namespace && Object.entries(selector).every(([label, value]) => labels[label] === value),
    )
    .map(({ name }) => name)
    .sort();
  const hosts = selecting.flatMap((service) => [
    service,
    // A pod of a StatefulSet has a name of its own under its governing Service.
    ...(service === subdomain && typeof hostname === 'string' ? [`${hostname}.${service}`] : []),
  ]);
  return {
    dnsNames: hosts.flatMap((host) => [
      `${host}.${namespace}.svc`,
      `${host}.${namespace}.svc.${CLUSTER_DOMAIN}`,
    ]),
    uris: [`spiffe://${trustDomain}/ns/${namespace}/sa/${String(serviceAccountName)}`],
  };
};
