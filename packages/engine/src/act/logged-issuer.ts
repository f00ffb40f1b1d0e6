import type { LeafWrite, RotationStep } from '@handover/core';
import type { Certificate } from '@handover/material';
import { type Asker, type Circumstances, entryOf, objectOf } from '../ledger/issued-entry.ts';
import type { Asked, Known, Ledger } from '../ledger/ledger.ts';
import type { Observation } from '../observe/observe.ts';
import { idOf } from '../snapshot/catalogue.ts';
import type { AuthorityId } from '../snapshot/home.ts';
import type { Issuer } from '../snapshot/keyring.ts';

type Knows = ((asked: Asked) => Known) | undefined;

/** Who asked for a step of an authority. Undefined: a step that only goes on with what was asked for before. */
export const askerOfStep = (
  knows: Knows,
  { responsibilities, seen }: Observation,
  swap: RotationStep,
): Asker | undefined => {
  switch (swap.kind) {
    case 'mint':
      return swap.as === 'current'
        ? { via: 'resource', ...knows?.({ kind: 'Authority', id: responsibilities.id }).askedBy }
        : askerOfRotation(knows, responsibilities.id, seen.rotate, swap.id);
    case 'distrust': {
      const [generation = 0] = swap.generations.filter((number) => seen.distrust.includes(number));
      return (
        knows?.({ kind: 'distrust', authority: responsibilities.id, generation }).askedBy ?? {
          via: 'request',
        }
      );
    }
    case 'activate':
    case 'retire':
    case 'drop':
    case 'distrust-done':
      return undefined;
    default:
      return swap satisfies never;
  }
};

const askerOfRotation = (
  knows: Knows,
  authority: AuthorityId,
  requested: readonly string[],
  id: string | undefined,
): Asker => {
  if (id === undefined || !requested.includes(id)) return { via: 'schedule' };
  return knows?.({ kind: 'rotate', authority, id }).askedBy ?? { via: 'request' };
};

/** The same issuer, which hands out no certificate before the log holds it. */
export const loggedIssuer = (
  issuer: Issuer,
  ledger: Ledger | undefined,
  observation: Observation,
  action: RotationStep | LeafWrite,
  now: Observation['now'],
): Issuer => {
  if (ledger === undefined) return issuer;
  const { id } = observation.responsibilities;
  const minted = new Map<string, number>();
  const numberOf = ({ fingerprint }: Certificate): number =>
    minted.get(fingerprint) ??
    observation.record?.state.generations.find(({ anchors }) =>
      anchors.some((anchor) => anchor.fingerprint === fingerprint),
    )?.number ??
    0;
  const forAuthority = () => {
    const askedBy = action.kind === 'write-leaf' ? undefined : askerOf(ledger, observation, action);
    return {
      for: objectOf('Authority', id, ledger.known({ kind: 'Authority', id }).uid),
      ...(askedBy === undefined ? {} : { askedBy }),
    };
  };
  const write = (certificate: Certificate, rest: Omit<Circumstances, 'authority' | 'why'>): Promise<void> =>
    ledger.issued(entryOf(certificate, now, { ...rest, authority: id, why: action.why }));
  return {
    ca: async (asked) => {
      const made = await issuer.ca(asked);
      minted.set(made.fingerprint, asked.generation);
      await write(made, { kind: 'ca', generation: asked.generation, ...forAuthority() });
      return made;
    },
    cross: async (asked) => {
      const made = await issuer.cross(asked);
      const [generation, certifies] = [numberOf(asked.by.certificate), numberOf(asked.subject)];
      await write(made, { kind: 'cross', generation, certifies, ...forAuthority() });
      return made;
    },
    // Who asks with a key of its own is logged by signExternal, which knows the request.
    sign: (asked) => issuer.sign(asked),
    leaf: async (asked) => {
      const made = await issuer.leaf(asked);
      const leaf = idOf(asked.leaf);
      const { uid, askedBy } = ledger.known({ kind: 'Leaf', id: leaf });
      await write(made.certificate, {
        kind: 'leaf',
        generation: numberOf(asked.by.certificate),
        for: objectOf('Leaf', leaf, uid),
        askedBy: { via: 'resource', ...askedBy },
      });
      return made;
    },
  };
};

/** A step that goes on with a rotation was asked for when that began: the request itself may be gone by now. */
const askerOf = (ledger: Ledger, observation: Observation, swap: RotationStep): Asker | undefined => {
  const { record } = observation;
  const rotation = record?.state.ids.at(-1);
  return (
    askerOfStep((asked) => ledger.known(asked), observation, swap) ??
    record?.history?.findLast((step) => step.step === 'mint' && step.rotation === rotation)?.askedBy
  );
};
