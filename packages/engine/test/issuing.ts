import { HandoverError } from '@handover/material';
import { policyFor } from '../src/index.ts';
import { catalogue } from './world.ts';

const resource = (kind: string, metadata: string, spec: string) =>
  `apiVersion: handover.dev/v1alpha1\nkind: ${kind}\nmetadata: {${metadata}}\nspec: {${spec}}\n`;
const facts = { consumersFound: false, cacheLag: 0, trustNamespace: 'default' } as never;

/** Authority `home/mesh` and one Leaf of it. */
export const issuing = (issueTo: string, namespace: string, leaf: string) =>
  catalogue(
    [
      resource('Authority', 'name: mesh, namespace: home', `issueTo: {${issueTo}}`),
      resource('Leaf', `name: l, namespace: ${namespace}`, `authority: home/mesh, ${leaf}`),
    ].join('---\n'),
  );

/** Why `home/mesh` refuses this Leaf; `issued` if it does not; the schema's message if the Leaf is malformed. */
export const answer = (issueTo: string, namespace: string, leaf: string): string => {
  try {
    const { refused } = policyFor(issuing(issueTo, namespace, leaf), 'home/mesh', facts, new Map());
    return refused.map(({ why }) => why).join() || 'issued';
  } catch (error) {
    if (!(error instanceof HandoverError)) throw error;
    return `no Leaf: ${error.message}`;
  }
};
export const OPEN = 'namespaceSelector: {}';
export const open = (more: string) => `${OPEN}, ${more}`;
export const CLIENT = 'usages: [client]';
