import type { KubeObject, ManagedFields } from '@handover/kube';

/** Controllers that keep caBundle fields, by the field manager they write with. */
const KEEPERS: readonly { readonly manager: RegExp; readonly who: string }[] = [
  // A user agent's part before the slash: cert-manager pkg/util/useragent.go.
  { manager: /^cert-manager-cainjector$/, who: "cert-manager's cainjector" },
  { manager: /^service-ca-operator$/, who: "OpenShift's service-ca" },
];

const CA_BUNDLE = 'f:caBundle';

const mentions = (fields: unknown, name: string): boolean => {
  if (typeof fields !== 'object' || fields === null) return false;
  return Object.entries(fields).some(([key, inner]) => key === name || mentions(inner, name));
};

const whoOf = ({ manager = '', fieldsV1 }: ManagedFields): string | undefined => {
  const known = KEEPERS.find((keeper) => keeper.manager.test(manager));
  return known !== undefined && mentions(fieldsV1, CA_BUNDLE) ? known.who : undefined;
};

/** Another controller that the API server has down as an owner of an object's caBundle. */
export const keeperOf = ({ metadata }: KubeObject): string | undefined => {
  for (const entry of metadata.managedFields ?? []) {
    const who = whoOf(entry);
    if (who !== undefined) return who;
  }
  return undefined;
};
