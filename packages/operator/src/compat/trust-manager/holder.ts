import { ADOPT, MANAGED_LABEL, TRUST_MANAGER } from '@handover/core';
import type { KubeObject } from '@handover/kube';

type Metadata = KubeObject['metadata'];

/** Whose an object is: a Bundle may write its own targets, and what its owner gave over. */
export type Holder = 'bundle' | 'handover' | 'foreign';

const ownersIn = ({ ownerReferences = [] }: Metadata): readonly string[] =>
  ownerReferences
    .filter(({ apiVersion, kind }) => kind === 'Bundle' && apiVersion.startsWith(`${TRUST_MANAGER.group}/`))
    .map(({ name }) => name);

const isKept = ({ labels }: Metadata): boolean => labels?.[MANAGED_LABEL] === 'true';

/** A target has the name of its Bundle. It is known also when it lost its label or its owner; the hash alone says nothing beside the label of another Bundle. */
export const holderOf = ({ metadata }: KubeObject): Holder => {
  const { name = '', labels = {}, annotations = {} } = metadata;
  if (isKept(metadata)) return 'handover';
  const label = labels[TRUST_MANAGER.bundle];
  const isTarget =
    label === name ||
    ownersIn(metadata).includes(name) ||
    (label === undefined && annotations[TRUST_MANAGER.hash] !== undefined);
  return isTarget || labels[ADOPT] === 'true' ? 'bundle' : 'foreign';
};

/** Written by a Bundle or by Handover. A selector that takes such an object would keep each CA for ever. */
export const isOutput = ({ metadata }: KubeObject): boolean =>
  isKept(metadata) ||
  metadata.labels?.[TRUST_MANAGER.bundle] === metadata.name ||
  metadata.annotations?.[TRUST_MANAGER.hash] !== undefined ||
  ownersIn(metadata).length > 0;
