import { CAINJECTOR, type Leaf, TAKE_OVER } from '@handover/core';
import { authorityRef } from '@handover/engine';
import type { Place } from '../objects/place.ts';
import type { ObjectProjection } from '../objects/projection.ts';
import { certificatesUnder } from '../resources/certificates-under.ts';
import {
  type Around,
  type InjectionOf,
  type InjectionRequest,
  namespacedName,
  quotedNames,
} from '../resources/injections.ts';

const KEY = 'ca.crt';

/** What is known beside the objects themselves. */
export interface CainjectorInputs {
  /** Name of the Secret of a Certificate `namespace/name`; undefined: it has none (yet). */
  readonly secretOf: (certificate: string) => string | undefined;
  /** CA of our own connection; undefined: it rests on roots that the system trusts. */
  readonly apiServerCa: () => string | undefined;
  /** A cainjector that is running in cert-manager's namespace: `namespace/name` of its Deployment. */
  readonly running: () => string | undefined;
  readonly takeOver: boolean;
}

/**
 * cainjector's annotations, in its order: Secret, Certificate, API server. One that is there and wrong is not passed over for
 * the next, as there.
 */
export const cainjectorInjection = (inputs: CainjectorInputs): InjectionOf => {
  return async (held, around) => {
    const asked = injectionIn(held, inputs, around);
    if (asked === undefined) return undefined;
    const running = inputs.running();
    const takesOver = inputs.takeOver || held.annotations[TAKE_OVER] === 'true';
    // What was injected stays ours: a distrust has to reach it, whatever runs beside the operator.
    const isOurs = Object.keys(held.entries).length > 0;
    if (running === undefined || takesOver || isOurs) return asked;
    return {
      refused: `Deployment ${running} is running and keeps objects with cert-manager's annotations; scale it to 0, or set ${TAKE_OVER}: "true" on this object`,
    };
  };
};

const injectionIn = (
  { annotations }: ObjectProjection,
  inputs: CainjectorInputs,
  around: Around,
): Promise<InjectionRequest> | undefined => {
  const secret = annotations[CAINJECTOR.fromSecret];
  if (secret !== undefined) return fromSecret(secret, around);
  const certificate = annotations[CAINJECTOR.fromCertificate];
  if (certificate !== undefined) return fromCertificate(certificate, inputs, around);
  return annotations[CAINJECTOR.fromApiServer] === 'true' ? fromApiServer(inputs) : undefined;
};

const invalid = (annotation: string, value: string): InjectionRequest => ({
  refused: `${annotation}: ${quotedNames(value)} is ignored; write namespace/name`,
});

const authorityOf = (leaf: Leaf): InjectionRequest => ({
  source: { authority: authorityRef(leaf.spec.authority, leaf.metadata.namespace) },
});

/** A Leaf that was asked for in place of a Certificate: its authority counts this object in its rotations. */
const leafWith = ({ leaves }: Around, namespace: string, secretName: string): Leaf | undefined => {
  for (const leaf of leaves.values())
    if (leaf.metadata.namespace === namespace && leaf.spec.secretName === secretName) return leaf;
  return undefined;
};

const fromSecret = async (value: string, around: Around): Promise<InjectionRequest> => {
  const named = namespacedName(value);
  if (named === undefined) return invalid(CAINJECTOR.fromSecret, value);
  const place: Place = { plural: 'secrets', ...named, part: KEY };
  const refuse = (why: string): InjectionRequest => ({ refused: `Secret ${value}: ${why}`, follow: [place] });
  const secret = await around.held(place);
  if (secret === undefined) return refuse('it does not exist (yet)');
  if (secret.annotations[CAINJECTOR.allowed] !== 'true')
    return refuse(`it does not carry ${CAINJECTOR.allowed}: "true", so nothing is taken from it`);
  const leaf = leafWith(around, named.namespace, named.name);
  if (leaf !== undefined) return { ...authorityOf(leaf), follow: [place] };
  return taken(secret, value, place);
};

const fromCertificate = async (
  value: string,
  inputs: CainjectorInputs,
  around: Around,
): Promise<InjectionRequest> => {
  const named = namespacedName(value);
  if (named === undefined) return invalid(CAINJECTOR.fromCertificate, value);
  const { namespace } = named;
  const name = inputs.secretOf(value);
  const leaf =
    around.leaves.get(value) ?? (name === undefined ? undefined : leafWith(around, namespace, name));
  if (leaf !== undefined) return authorityOf(leaf);
  if (name === undefined)
    return {
      refused: `no Secret in ${namespace} carries ${CAINJECTOR.certificateName}: ${named.name} (yet)`,
    };
  const place: Place = { plural: 'secrets', namespace, name, part: KEY };
  const secret = await around.held(place);
  if (secret === undefined)
    return { refused: `Secret ${namespace}/${name}: it does not exist (yet)`, follow: [place] };
  return taken(secret, `${namespace}/${name}`, place);
};

const taken = (secret: ObjectProjection, name: string, place: Place): InjectionRequest => {
  const { why } = certificatesUnder(secret, KEY);
  if (why !== undefined) return { refused: `Secret ${name}: ${why}`, follow: [place] };
  return { source: { secret: { name, key: KEY } }, follow: [place] };
};

const fromApiServer = async (inputs: CainjectorInputs): Promise<InjectionRequest> => {
  const inline = inputs.apiServerCa();
  return inline === undefined
    ? {
        refused: `${CAINJECTOR.fromApiServer}: our connection to the API server does not use a CA of its own`,
      }
    : { source: { inline } };
};
