import type { Selector } from '@handover/engine';
import { type ConfigMap, configMaps, type KubeReader, type Secret, secrets } from '@handover/kube';
import { bytesOf } from '@handover/material';
import type { FollowedBundles } from './followed-bundles.ts';
import type { SourceKind, SourceObject, Sources } from './sources.ts';

const decoded = (data: Readonly<Record<string, string>> = {}): readonly (readonly [string, Uint8Array])[] =>
  Object.entries(data).map(([key, value]) => [key, Buffer.from(value, 'base64')]);

const named = async (
  kube: KubeReader,
  kind: SourceKind,
  namespace: string,
  name: string,
): Promise<SourceObject | undefined> => {
  const id = `${namespace}/${name}`;
  if (kind === 'Secret') {
    const secret: Secret | undefined = await kube.get(secrets, { namespace, name });
    return secret && { kind, id, type: secret.type, data: new Map(decoded(secret.data)) };
  }
  const found: ConfigMap | undefined = await kube.get(configMaps, { namespace, name });
  if (found === undefined) return undefined;
  const texts = Object.entries(found.data ?? {}).map(([key, text]) => [key, bytesOf(text)] as const);
  return { kind, id, data: new Map([...decoded(found.binaryData), ...texts]) };
};

/** Reads from the trust namespace alone, each time: contents are not kept. */
export const sourcesOf = (kube: KubeReader, followed: FollowedBundles): Sources => {
  const namespace = followed.options.trustNamespace;
  const selected = async (kind: SourceKind, selector: Selector): Promise<readonly SourceObject[]> => {
    const names = followed.selected(kind, selector);
    const found = await Promise.all(names.map((name) => named(kube, kind, namespace, name)));
    return found.filter((object) => object !== undefined);
  };
  return {
    namespace,
    named: (kind, name) => named(kube, kind, namespace, name),
    selected,
    defaultCas: followed.options.defaultCas(),
  };
};
