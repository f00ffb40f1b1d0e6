import { type Generation, withRole } from './authority.ts';
import { heldSince, holds, type PlanningContext } from './evidence.ts';
import type { GateMode } from './gate-mode.ts';
import type { ConsumerSeen, InstanceSeen, Observed, Proof } from './observed.ts';
import { listed } from './waiting.ts';
import type { Note } from './writes.ts';

/** Whether a process of it was seen to send its leaf without the cross-certificate that its file holds. */
export const strips = ({ instances }: ConsumerSeen): boolean =>
  instances.some(({ proofs }) => proofs.some(({ chain }) => chain === 'strips'));

/** Of several Secrets, it shows the chains of those whose leaf it names. */
const isAbout = (
  { objects }: PlanningContext,
  { presents }: ConsumerSeen,
  proof: Proof,
  object: string,
): boolean => {
  if (proof.object !== undefined) return proof.object === object;
  const leaf = objects.get(object)?.leaf?.fingerprint;
  return presents.length === 1 || proof.leaves?.some(({ fingerprint }) => fingerprint === leaf) === true;
};

/** Whether each of its processes that shows a leaf was seen to send the cross-certificate, with every leaf that it presents. */
const sends = (context: PlanningContext, consumer: ConsumerSeen): boolean => {
  const answering = consumer.instances.filter(({ proofs }) =>
    proofs.some(({ issuer }) => issuer !== undefined),
  );
  const isSent = ({ proofs }: InstanceSeen): boolean =>
    consumer.presents.every((object) =>
      proofs.some((proof) => proof.chain === 'sends' && isAbout(context, consumer, proof, object)),
    );
  return answering.length > 0 && answering.every(isSent) && !strips(consumer);
};

/** Presenters that were not seen sending the cross-certificate, and those of Secrets that no known consumer presents. */
export const unseenPresenters = (context: PlanningContext, { consumers }: Observed): readonly string[] => {
  const presented = new Set(consumers.flatMap(({ presents }) => presents));
  const unknown = context.policy.leaves.filter(
    ({ object }) => !presented.has(object) && context.objects.get(object)?.leaf !== undefined,
  );
  return [
    ...consumers
      .filter((one) => one.presents.length > 0 && !strips(one) && !sends(context, one))
      .map(({ id }) => id),
    ...unknown.map(({ object }) => `servers that present ${object}`),
  ];
};

/**
 * A restart-only verifier that presents nothing is restarted once in a rotation, whether before or after the new CA begins to sign. Before costs
 * nothing more, and needs no cross-certificate: so it comes first where a presenter was not seen sending that.
 */
export const isRolledFirst = (
  { objects }: PlanningContext,
  { blocks, reload, presents, verifies, workload }: ConsumerSeen,
  next: Generation,
  { unseen }: GateMode,
): boolean =>
  unseen &&
  blocks &&
  reload === 'restart' &&
  presents.length === 0 &&
  workload !== undefined &&
  workload.obstacle === undefined &&
  workload.failing === undefined &&
  // The bundle of an object that another program writes comes with its next leaf, and that follows the new CA.
  verifies.every((object) => heldSince(objects.get(object), next) !== undefined);

/** Whether the next step waits for a verifier, or only the cross-certificate makes it accept leaves of this CA, as far as is shown. */
const trustOf = (
  context: PlanningContext,
  consumer: ConsumerSeen,
  generation: Generation,
): 'awaited' | 'rests' | 'held' => {
  let isResting = false;
  for (const object of consumer.verifies) {
    const asked = (settled: boolean) =>
      holds(context, consumer, object, generation, { settled, cross: true });
    const finding = asked(true);
    if (!finding.ok) return 'awaited';
    // That reloadWithin has passed shows nothing where its owner did not give the word.
    isResting ||=
      finding.by === 'cross' || finding.by === 'outside' || (finding.by === 'settled' && !asked(false).ok);
  }
  return isResting ? 'rests' : 'held';
};

/** Verifiers that accept leaves of a CA through its cross-certificate alone; where the step does not wait, those that it has overtaken, too. */
const resting = (
  context: PlanningContext,
  { consumers }: Observed,
  generation: Generation,
  waits: boolean,
): readonly string[] =>
  consumers.flatMap((consumer) => {
    const trust = trustOf(context, consumer, generation);
    return trust === 'rests' || (trust === 'awaited' && !waits) ? [consumer.id] : [];
  });

const does = (names: readonly string[], one: string, several: string): string =>
  `${listed(names, 3)} ${names.length === 1 ? one : several}`;

const relying = (names: readonly string[]): string =>
  `${does(names, 'relies', 'rely')} on the cross-certificate`;

const notShown = (unseen: readonly string[]): string =>
  `no probe or status document has shown that ${does(unseen, 'sends', 'send')} it`;

/** The verifiers that only the cross-certificate makes accept `next`, where a presenter was not seen sending it; undefined: there are none. */
export const onUnseenChains = (
  context: PlanningContext,
  seen: Observed,
  next: Generation,
): string | undefined => {
  const unseen = unseenPresenters(context, seen);
  const names = unseen.length === 0 ? [] : resting(context, seen, next, false);
  return names.length === 0 ? undefined : `${relying(names)}, and ${notShown(unseen)}`;
};

/** The same where the strategy takes the gate as open: every verifier relies on it. */
export const onUnseenChainsAtOnce = (context: PlanningContext, seen: Observed): string => {
  const unseen = unseenPresenters(context, seen);
  return unseen.length === 0 ? '' : `; ${notShown(unseen)}`;
};

/** Before and after the new CA begins to sign: verifiers that need the cross-certificate, beside presenters that may not send it. */
export const chainNotes = (
  context: PlanningContext,
  seen: Observed,
  { strict }: GateMode,
): readonly Note[] => {
  const { state } = context;
  const next = withRole(state, 'next');
  const signs = withRole(state, 'previous') === undefined ? undefined : withRole(state, 'current');
  const coming = next ?? signs;
  const isCovered =
    coming === next ? strict === undefined : state.crosses.some(({ of }) => of === coming?.number);
  if (coming === undefined || !isCovered) return [];
  const unseen = unseenPresenters(context, seen);
  // Before it signs, a presenter that strips makes gate 1 strict.
  const without = next === undefined ? seen.consumers.filter(strips).map(({ id }) => id) : [];
  if (unseen.length + without.length === 0) return [];
  const names = resting(context, seen, coming, next !== undefined);
  if (names.length === 0) return [];
  const doubts = [
    ...(without.length === 0 ? [] : [`${does(without, 'does', 'do')} not send it`]),
    ...(unseen.length === 0 ? [] : [notShown(unseen)]),
  ];
  return [
    {
      code: 'RestsOnCrossCertificate',
      object: `CA generation ${coming.number}`,
      message: `${relying(names)}, and ${doubts.join(', and ')}`,
    },
  ];
};
