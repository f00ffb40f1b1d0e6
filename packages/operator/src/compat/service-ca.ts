import { API_VERSION, type Leaf, parseResource, SERVICE_CA } from '@handover/core';
import type { ObjectRecord } from '@handover/engine';
import type { KubeObject } from '@handover/kube';
import { isoSeconds } from '@handover/material';
import { cut, MOST_NAME, MOST_SAID } from '../cache/bounds.ts';
import type { InjectionOf } from '../resources/injections.ts';

/** Key under which a ConfigMap gets the bundle. */
export const BUNDLE_KEY = 'service-ca.crt';
/** After this many failures a Service is left alone until its error annotations are removed. */
export const MOST_ERRORS = 10;

/** All that is kept of a Service. */
export interface ServiceSeen {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly secretName: string;
  readonly headless: boolean;
  readonly error: string | undefined;
  readonly errors: number;
}

/** undefined: it asks for nothing. */
export const serviceSeen = ({ metadata, spec }: KubeObject): ServiceSeen | undefined => {
  const { namespace = '', name = '', uid = '', annotations = {} } = metadata;
  // One character more than a name can have is enough to refuse it.
  const secretName = cut(annotations[SERVICE_CA.secretName] ?? '', MOST_NAME + 1);
  if (secretName === '') return undefined;
  const error = annotations[SERVICE_CA.error];
  const errors = Number(annotations[SERVICE_CA.errorNum] ?? 0);
  return {
    namespace,
    name,
    uid,
    secretName,
    headless: (spec as { clusterIP?: unknown } | undefined)?.clusterIP === 'None',
    error: error === undefined ? undefined : cut(error, MOST_SAID),
    errors: Number.isInteger(errors) && errors > 0 ? errors : 0,
  };
};

export const wantsBundle = (annotations: Readonly<Record<string, string>> | undefined): boolean =>
  annotations?.[SERVICE_CA.inject]?.toLowerCase() === 'true';

/** Names that a Service goes by; its pods too, where they have names of their own. */
const namesOf = ({ namespace, name, headless }: ServiceSeen): readonly string[] => {
  const own = [`${name}.${namespace}.svc`, `${name}.${namespace}.svc.cluster.local`];
  return headless ? [...own, ...own.map((dnsName) => `*.${dnsName}`)] : own;
};

/** A space: no Leaf that a person asks for can have this name. */
const leafName = (name: string): string => `service ${name}`;
export const leafIdOf = ({ namespace, name }: ServiceSeen): string => `${namespace}/${leafName(name)}`;

/** The Leaf that a Service's annotation asks for. Throws RESOURCE_INVALID when it cannot be one. */
export const leafOf = (service: ServiceSeen, authority: string): Leaf => {
  const { namespace, name, secretName } = service;
  // A subject has room for 64 characters; cut short it would be the name of another.
  const commonName = `${name}.${namespace}.svc`;
  const leaf = parseResource(
    {
      apiVersion: API_VERSION,
      kind: 'Leaf',
      metadata: { namespace, name },
      spec: {
        authority,
        secretName,
        ...(commonName.length > 64 ? {} : { subject: { commonName } }),
        dnsNames: namesOf(service),
        usages: ['server'],
      },
    },
    `Service ${namespace}/${name}`,
  ) as Leaf;
  return { ...leaf, metadata: { ...leaf.metadata, name: leafName(name) } };
};

/** What service-ca writes beside the certificate. */
export const secretAnnotations = (
  { name, uid }: ServiceSeen,
  { leaf }: ObjectRecord,
): Readonly<Record<string, string>> => ({
  [SERVICE_CA.originName]: name,
  [SERVICE_CA.originUid]: uid,
  ...(leaf === undefined ? {} : { [SERVICE_CA.expiry]: isoSeconds(leaf.notAfter) }),
});

/** service-ca's annotation on fields: the bundle of the one authority that stands in for it. */
export const serviceCaInjection =
  (authority: string): InjectionOf =>
  async ({ annotations }, { whyNot }) => {
    if (!wantsBundle(annotations)) return undefined;
    const why = whyNot(authority);
    return why === undefined
      ? { source: { authority } }
      : { refused: `${SERVICE_CA.inject}: ${why}; --service-ca-authority names it` };
  };
