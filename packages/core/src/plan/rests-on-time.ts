import { second } from '@handover/material';
import type { ConsumerSeen, Observed, Proof } from './observed.ts';
import type { Policy } from './policy.ts';
import { readIn } from './readers.ts';
import { lengthOf, listed } from './waiting.ts';

/** What a consumer has loaded: the CAs that it trusts, the leaf that it serves. */
type Loaded = 'trust' | 'leaf';

/**
 * A consumer that shows nothing of what it has loaded: before an old CA goes, the time since a write stands in for evidence, by the word
 * of its owner. Declared evidence that cannot be read is not among them: it blocks.
 */
export interface RestsOnTime {
  /** Or "readers of …", "servers that present …", where no consumer is declared for an object. */
  readonly consumer: string;
  readonly unseen: readonly Loaded[];
  /** `reloadWithin`: the time that counts as evidence. */
  readonly withinSeconds: number;
  /** No consumer is declared for an object: where consumers are not found, its owner gave this word by declaring none. */
  readonly undeclared?: true;
}

const speaksOf = (proof: Proof, about: Loaded, object: string, { presents }: ConsumerSeen): boolean => {
  if (proof.object !== undefined && proof.object !== object) return false;
  if (about === 'trust') return (proof.anchors ?? proof.refuses) !== undefined || proof.complete === true;
  // A handshake with one port says nothing of the other Secrets that a pod presents.
  return proof.issuer !== undefined && !(proof.by === 'probed' && presents.length > 1);
};

const isUnseen = (consumer: ConsumerSeen, about: Loaded, object: string): boolean =>
  consumer.instances.length === 0 ||
  consumer.instances.some(
    ({ proofs, unread }) =>
      unread?.[about] === undefined && !proofs.some((proof) => speaksOf(proof, about, object, consumer)),
  );

/** Whether the time since a write ever counts for it: by its owner's word, and never where it is seen to read its files only once. */
const mayRest = (consumer: ConsumerSeen, { consumersFound }: Policy): boolean => {
  if (consumer.reload === 'restart' || consumer.reload === 'field') return false;
  return consumersFound ? consumer.ownersWord && consumer.instances.length > 0 : true;
};

/** Objects without a declared reader or presenter, where consumers are declared and not found. */
const undeclared = (seen: Observed, policy: Policy): readonly Omit<RestsOnTime, 'withinSeconds'>[] => {
  const exists = new Set(seen.objects.map(({ id }) => id));
  const { leaves, bundles } = policy;
  const read = readIn(policy, seen);
  const presented = new Set(seen.consumers.flatMap(({ presents }) => presents));
  const held = leaves.filter(({ object }) => exists.has(object));
  return [
    ...[...held, ...bundles]
      .filter(({ object }) => !read.has(object))
      .map(({ object }) => ({
        consumer: `readers of ${object}`,
        unseen: ['trust'] as const,
        undeclared: true as const,
      })),
    ...held
      .filter(({ object }) => !presented.has(object))
      .map(({ object }) => ({
        consumer: `servers that present ${object}`,
        unseen: ['leaf'] as const,
        undeclared: true as const,
      })),
  ];
};

/** Whether it is a program that is known, and not a word about programs that are not. */
const isNamed = ({ instances }: ConsumerSeen): boolean => instances.some(({ name }) => name !== undefined);

/** Consumers for which a rotation takes time as evidence, programs with a name first. For people: no step rests on this list. */
export const restsOnTime = (seen: Observed, policy: Policy): readonly RestsOnTime[] => {
  // Without a CA there is nothing to rotate.
  if (seen.authority === undefined) return [];
  const namedFirst = [...seen.consumers].sort((a, b) => Number(isNamed(b)) - Number(isNamed(a)));
  const found = namedFirst.flatMap((consumer) => {
    if (!mayRest(consumer, policy)) return [];
    const unseen: readonly Loaded[] = [
      ...(consumer.verifies.some((object) => isUnseen(consumer, 'trust', object))
        ? (['trust'] as const)
        : []),
      ...(consumer.presents.some((object) => isUnseen(consumer, 'leaf', object)) ? (['leaf'] as const) : []),
    ];
    return unseen.length === 0 ? [] : [{ consumer: consumer.id, unseen }];
  });
  const withinSeconds = policy.reloadWithin / second;
  const others = policy.consumersFound ? [] : undeclared(seen, policy);
  return [...found, ...others].map((one) => ({ ...one, withinSeconds }));
};

/** What nothing shows of one consumer, and of several. */
const UNSEEN_WORDS = {
  'trust+leaf': ['what it has loaded', 'what they have loaded'],
  trust: ['which CAs it trusts', 'which CAs they trust'],
  leaf: ['which certificate it serves', 'which certificate they serve'],
} as const;

/** Names in one sentence; `--json` has them all. */
const MOST_NAMES = 20;

export interface RestsTextOptions {
  /** Nothing is under way: objects without a declared consumer are left out. Default: false. */
  readonly atRest?: boolean;
}

/** The one place where they become sentences: for status, plan and certgen. No capital, no full stop. */
export const restsText = (
  resting: readonly RestsOnTime[],
  { atRest = false }: RestsTextOptions = {},
): readonly string[] =>
  (['trust+leaf', 'trust', 'leaf'] as const).flatMap((unseen) => {
    const some = resting.filter(
      (one) => one.unseen.join('+') === unseen && !(atRest && one.undeclared === true),
    );
    const [first] = some;
    if (first === undefined) return [];
    const names = listed(
      some.map(({ consumer }) => consumer),
      MOST_NAMES,
    );
    const within = lengthOf(first.withinSeconds * second);
    const what = UNSEEN_WORDS[unseen][some.length === 1 ? 0 : 1];
    return [`rests on reloadWithin (${within}): ${names} (nothing shows ${what})`];
  });
