import {
  type KubeObject,
  type ResourceKind,
  services as servicesKind,
  endpointSlices as slicesKind,
} from '@handover/kube';
import { CliError } from '../error.ts';
import { usageError } from '../error-line.ts';
import type { CheckTarget } from '../tls/target.ts';
import { connectKube, type KubeFlags } from './connect.ts';

interface Service extends KubeObject {
  readonly spec?: {
    readonly type?: string;
    readonly externalName?: string;
    readonly ports?: readonly { readonly name?: string; readonly port: number; readonly protocol?: string }[];
  };
}

interface EndpointSlice extends KubeObject {
  readonly endpoints?: readonly {
    readonly addresses?: readonly string[];
    readonly conditions?: { readonly ready?: boolean };
    readonly targetRef?: { readonly kind?: string; readonly name?: string };
  }[];
  readonly ports?: readonly { readonly name?: string; readonly port?: number }[];
}

const services = servicesKind as ResourceKind<Service>;
const endpointSlices = slicesKind as ResourceKind<EndpointSlice>;

/** The limit for an answer of the API server. */
const PATIENCE_MS = 30_000;

export interface ServiceTargets {
  readonly servername: string;
  readonly targets: readonly CheckTarget[];
  /** Pods or addresses that get no connections now. */
  readonly notReady: readonly string[];
}

/** `NS/SERVICE` or `NS/SERVICE:PORT`; without a namespace it is `default`. */
const parse = (text: string): { namespace: string; name: string; port: string | undefined } => {
  const [, namespace = 'default', name, port] =
    /^(?:([a-z0-9-]+)\/)?([a-z0-9-]+)(?::([a-z0-9-]+))?$/.exec(text) ?? [];
  if (name === undefined)
    throw usageError(
      `"${text}" is not a Service; write NS/SERVICE or NS/SERVICE:PORT, such as mesh/web:https`,
    );
  return { namespace, name, port };
};

/** The port of a Service by number or name; without either, its only port. */
const portOf = ({ spec }: Service, id: string, asked: string | undefined): { name: string } => {
  const ports = (spec?.ports ?? []).filter(({ protocol = 'TCP' }) => protocol === 'TCP');
  const known = ports
    .map(({ name, port }) => (name === undefined ? `${port}` : `${name} (${port})`))
    .join(', ');
  if (asked === undefined && ports.length > 1)
    throw usageError(`${id} has several ports; choose one, such as ${id}:${ports[0]?.port}; known: ${known}`);
  const found =
    asked === undefined ? ports[0] : ports.find(({ name, port }) => name === asked || `${port}` === asked);
  if (found === undefined)
    throw usageError(`${id} has no TCP port ${asked ?? ''}; it has ${known === '' ? 'none' : known}`);
  return { name: found.name ?? '' };
};

/** Every address behind a port, once: a Service may have several slices, and an address may move from one to another. */
const addressesIn = (
  slices: readonly EndpointSlice[],
  portName: string,
): Pick<ServiceTargets, 'targets' | 'notReady'> => {
  const targets = new Map<string, CheckTarget>();
  const notReady = new Set<string>();
  for (const { ports = [], endpoints = [] } of slices) {
    const port = ports.find(({ name }) => (name ?? '') === portName)?.port;
    if (port === undefined) continue;
    for (const { addresses = [], conditions, targetRef } of endpoints) {
      const pod = targetRef?.kind === 'Pod' ? targetRef.name : undefined;
      const [host] = addresses; // further ones belong to the same endpoint
      if (host === undefined) continue;
      // absent means ready, by the API
      if (conditions?.ready === false) notReady.add(pod ?? host);
      else targets.set(`${host} ${port}`, { host, port, pod });
    }
  }
  return { targets: [...targets.values()], notReady: [...notReady] };
};

/** The ready addresses behind a Service. */
export async function serviceTargets(text: string, flags: KubeFlags): Promise<ServiceTargets> {
  const { namespace, name, port } = parse(text);
  const id = `${namespace}/${name}`;
  const end = new AbortController();
  try {
    const { kube } = await connectKube(flags, end.signal);
    const service = await kube.get(services, { namespace, name }, { timeout: PATIENCE_MS });
    if (service === undefined)
      throw new CliError('SERVICE_MISSING', `Service ${id} does not exist; correct its namespace or name`);
    if (service.spec?.type === 'ExternalName')
      throw usageError(
        `Service ${id} is an alias of ${service.spec.externalName}; check that host as HOST:PORT, without --home kube`,
      );
    const { name: portName } = portOf(service, id, port);
    const labelSelector = `kubernetes.io/service-name=${name}`;
    const { items } = await kube.list(endpointSlices, { namespace, labelSelector }, { timeout: PATIENCE_MS });
    const found = addressesIn(items, portName);
    if (found.targets.length === 0)
      throw new CliError(
        'SERVICE_WITHOUT_PODS',
        `Service ${id} has no ready pod${found.notReady.length === 0 ? '' : ` (not ready: ${found.notReady.join(', ')})`}; check its pods`,
        { retry: 'later' },
      );
    return { ...found, servername: `${name}.${namespace}.svc` };
  } finally {
    end.abort();
  }
}
