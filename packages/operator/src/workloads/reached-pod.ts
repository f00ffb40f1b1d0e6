import type { KubeObject } from '@handover/kube';
import { isMap, type Json } from '@handover/material';
import { OperatorError } from '../error.ts';
import { spelling } from './addresses.ts';

/**
 * What is to be known of a pod that is asked over the network. Its status is the kubelet's word; where a role lets a tenant write
 * `pods/status`, it is the tenant's, and any address may stand in it.
 */
export interface ReachedPod {
  readonly uid: string;
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  /** The first is the one that it is asked at. */
  readonly ips: readonly string[];
  /** Its address is its node's. */
  readonly onNode: boolean;
  readonly ports: ReadonlyMap<string, number>;
}

const list = (value: unknown): readonly Json[] => (Array.isArray(value) ? value.filter(isMap) : []);

/** Addresses in one spelling; what is none stays as it is, to be named. */
const spelt = (values: readonly unknown[]): readonly string[] =>
  values.flatMap((ip) => (typeof ip === 'string' && ip !== '' ? [spelling(ip) ?? ip] : []));

/** Undefined: it has ended, so that its address may be another's. */
export const reachedPodOf = (object: KubeObject): ReachedPod | undefined => {
  const { metadata } = object;
  const status = isMap(object.status) ? object.status : {};
  const spec = isMap(object.spec) ? object.spec : {};
  if (status.phase === 'Succeeded' || status.phase === 'Failed') return undefined;
  const ips = spelt([status.podIP, ...list(status.podIPs).map(({ ip }) => ip)]);
  const nodes = spelt([status.hostIP, ...list(status.hostIPs).map((host) => host.ip)]);
  const ports = [...list(spec.containers), ...list(spec.initContainers)].flatMap((container) =>
    list(container.ports),
  );
  return {
    uid: metadata.uid ?? '',
    name: metadata.name ?? '',
    labels: metadata.labels ?? {},
    ips: [...new Set(ips)],
    onNode: spec.hostNetwork === true || ips.some((ip) => nodes.includes(ip)),
    ports: new Map(
      ports.flatMap(({ name, containerPort }) =>
        typeof name === 'string' && typeof containerPort === 'number' ? [[name, containerPort]] : [],
      ),
    ),
  };
};

const refuse = (message: string): never => {
  throw new OperatorError('ADDRESS_REFUSED', message);
};

/** The pods that a Service stands for, by its own selector: its endpoints may be written by hand. */
export const podsBehind = (service: KubeObject, pods: readonly ReachedPod[]): readonly ReachedPod[] => {
  const name = `Service ${service.metadata.namespace}/${service.metadata.name}`;
  const spec = isMap(service.spec) ? service.spec : {};
  if (spec.type === 'ExternalName') refuse(`${name} is an ExternalName; name a Service with a selector`);
  const selector = Object.entries(isMap(spec.selector) ? spec.selector : {});
  if (selector.length === 0) refuse(`${name} has no selector; name a Service that selects pods`);
  const found = pods.filter(({ labels }) => selector.every(([key, value]) => labels[key] === value));
  return found.length > 0 ? found : refuse(`${name} selects no pod`);
};

/** The port of a pod behind a Service's port. */
export const portBehind = (service: KubeObject, port: number, pod: ReachedPod): number => {
  const name = `Service ${service.metadata.namespace}/${service.metadata.name}`;
  const spec = isMap(service.spec) ? service.spec : {};
  // Clients of a headless Service connect to the pods themselves, on the port that they say.
  if (spec.clusterIP === 'None') return port;
  const found = list(spec.ports).find((candidate) => candidate.port === port);
  if (found === undefined) return refuse(`${name} has no port ${port}; name one that it has`);
  const target = found.targetPort ?? port;
  if (typeof target === 'number') return target;
  return (
    pod.ports.get(String(target)) ??
    refuse(`${name} leads to port ${JSON.stringify(target)}, which pod ${pod.name} does not have`)
  );
};
