import {
  apiServices,
  configMaps,
  deployments,
  type Kube,
  type KubeObject,
  pods as podKind,
  secrets,
  validatingWebhookConfigurations,
} from '@handover/kube';
import { parseCertificates } from '@handover/material';
import { API, MEMBERS, type Member, NAMESPACE, namespaceOf, WEBHOOK } from './mesh.ts';

type Json = Readonly<Record<string, unknown>>;
const at = (value: unknown, ...path: readonly (string | number)[]): unknown =>
  path.reduce<unknown>((inner, name) => (inner as Json | undefined)?.[name], value);
const text = (value: unknown): string => (typeof value === 'string' ? value : '');
const decoded = (value: unknown): string => Buffer.from(text(value), 'base64').toString('utf8');

/** A live pod of the mesh. */
export interface LivePod {
  readonly name: string;
  readonly app: string;
  readonly ip: string;
  /** Where it runs; empty until it is placed. */
  readonly node: string;
  readonly ready: boolean;
}

export const livePods = async (
  kube: Kube,
  members: readonly Member[] = MEMBERS,
): Promise<readonly LivePod[]> => {
  const namespaces = [...new Set(members.map(namespaceOf))];
  const lists = await Promise.all(namespaces.map((namespace) => kube.list(podKind, { namespace })));
  return lists
    .flatMap(({ items }) => items)
    .map((pod) => ({
      name: text(pod.metadata.name),
      app: text(pod.metadata.labels?.app),
      ip: text(at(pod, 'status', 'podIP')),
      node: text(at(pod, 'spec', 'nodeName')),
      ready: ((at(pod, 'status', 'conditions') ?? []) as Json[]).some(
        ({ type, status }) => type === 'Ready' && status === 'True',
      ),
    }));
};

/** Every pod exists and is ready, and none is terminating. */
export const isSettled = async (kube: Kube, members: readonly Member[] = MEMBERS): Promise<boolean> => {
  const live = await livePods(kube, members);
  const wanted = members.reduce((sum, { replicas }) => sum + replicas, 0);
  return live.length === wanted && live.every(({ ready }) => ready);
};

/** How often a Deployment was rolled out, including the first time. */
export const revisionOf = async (
  kube: Kube,
  name: string,
  namespace: string = NAMESPACE,
): Promise<number> => {
  const found = await kube.get(deployments, { namespace, name });
  return Number(found?.metadata.annotations?.['deployment.kubernetes.io/revision']);
};

export const secretOf = async (
  kube: Kube,
  name: string,
  namespace: string = NAMESPACE,
): Promise<{ readonly cert: string; readonly key: string; readonly ca: string }> => {
  const found: KubeObject | undefined = await kube.get(secrets, { namespace, name });
  const file = (key: string): string => decoded(at(found, 'data', key));
  return { cert: file('tls.crt'), key: file('tls.key'), ca: file('ca.crt') };
};

/** Fingerprints in every bundle, by the object that holds it. */
export const bundles = async (kube: Kube): Promise<ReadonlyMap<string, readonly string[]>> => {
  const found = new Map<string, readonly string[]>();
  const add = (name: string, pem: string): void => {
    found.set(
      name,
      parseCertificates(pem).certificates.map(({ fingerprint }) => fingerprint),
    );
  };
  for (const { name } of MEMBERS) add(`Secret ${name}`, (await secretOf(kube, name)).ca);
  const own = await kube.get(configMaps, { namespace: NAMESPACE, name: 'mesh-trust' });
  add('ConfigMap mesh-trust', text(at(own, 'data', 'ca.crt')));
  const hook = await kube.get(validatingWebhookConfigurations, { name: WEBHOOK });
  add('webhook', decoded(at(hook, 'webhooks', 0, 'clientConfig', 'caBundle')));
  const api = await kube.get(apiServices, { name: API });
  add('APIService', decoded(at(api, 'spec', 'caBundle')));
  return found;
};
