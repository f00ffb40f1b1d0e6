import { type ConsumerSeen, ipOctets, type Leaf } from '@handover/core';
import type { Certificate, HandoverError } from '@handover/material';
import { EngineError } from '../error.ts';
import { authorityRef, idOf } from '../snapshot/catalogue.ts';
import type { ObjectId } from '../snapshot/home.ts';
import type { Responsibilities } from '../snapshot/responsibilities.ts';
import type { DeclaredConsumer } from './whereabouts.ts';

/** The Leaf that a consumer's owner says it presents; undefined: the owner names none. */
export const expectedLeaf = (
  { leaves, authority }: Responsibilities,
  { leaf }: DeclaredConsumer,
): ConsumerSeen['expects'] => {
  if (leaf === undefined) return undefined;
  const wanted = authorityRef(leaf, authority.metadata.namespace);
  for (const [object, candidate] of leaves) if (idOf(candidate) === wanted) return { leaf: wanted, object };
  return { leaf: wanted, object: undefined };
};

type Names = Pick<Leaf['spec'], 'dnsNames' | 'ipAddresses' | 'uris'>;

/** The same text for the same names, however they are written. */
const namesIn = ({ dnsNames, ipAddresses, uris }: Names | Certificate): string =>
  JSON.stringify([
    dnsNames.map((name) => name.toLowerCase()).sort(),
    ipAddresses.map((address) => ipOctets(address)?.join('.') ?? address).sort(),
    [...uris].sort(),
  ]);

/** Says whether a certificate has the names of another Leaf than the expected one: then it is from that Leaf's object. */
export const otherLeafThan = (
  { leaves }: Responsibilities,
  expected: ConsumerSeen['expects'],
): ((leaf: Certificate) => ObjectId | undefined) | undefined => {
  const object = expected?.object;
  const own = object === undefined ? undefined : leaves.get(object);
  if (own === undefined) return undefined;
  return (certificate) => {
    const shown = namesIn(certificate);
    if (shown === namesIn(own.spec)) return undefined;
    return [...leaves].find(([, { spec }]) => namesIn(spec) === shown)?.[0];
  };
};

/** Consumers that present a Leaf which there is not: each blocks every rotation, so that it is worth an error before one begins. */
export const unknownLeaves = (responsibilities: Responsibilities): readonly HandoverError[] => {
  const { id, authority, leaves, refused } = responsibilities;
  return authority.spec.consumers.flatMap((consumer, index) => {
    const expected = expectedLeaf(responsibilities, consumer);
    if (expected === undefined || expected.object !== undefined) return [];
    if (refused.some(({ leaf }) => leaf === expected.leaf)) return []; // said of the Leaf itself
    const known = [...leaves.values()].map(idOf).slice(0, 5).join(', ');
    return [
      new EngineError(
        'CONSUMER_LEAF_UNKNOWN',
        `Authority ${id}: spec.consumers[${index}].leaf of ${consumer.name}: ${expected.leaf} is no Leaf of this Authority, so that its next rotation waits; ${known === '' ? 'declare it' : `name one of: ${known}`}`,
        { path: id, retry: 'later' },
      ),
    ];
  });
};
