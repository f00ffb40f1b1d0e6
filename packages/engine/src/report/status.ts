import {
  byStrength,
  type Closeness,
  type ConsumerSeen,
  countEvidence,
  explain,
  MOST_NAMED,
  type NotReady,
  notReady,
  type ObjectSeen,
  type Plan,
  type Proof,
  passesAt,
  plan,
  restsOnTime,
  standings,
  standsOn,
} from '@handover/core';
import {
  bundleOf,
  bytesOf,
  HandoverError,
  hour,
  type Instant,
  instant,
  iso,
  sameBytes,
} from '@handover/material';
import { resolveProfile } from '../act/profile.ts';
import { historyOf } from '../ledger/history.ts';
import { type Observation, observeWithRetry } from '../observe/observe.ts';
import { servingsIn } from '../observe/servings.ts';
import { profileObjectOf, targetsOf, type Unusable } from '../snapshot/catalogue.ts';
import type { AuthorityId, ObjectId } from '../snapshot/home.ts';
import { hookNamed } from '../snapshot/hook-status.ts';
import { trustedOf } from '../snapshot/shared-bundles.ts';
import type { ReadSnapshot, Snapshot } from '../snapshot/snapshot.ts';
import { bundleKeyOf, readableCertificates } from '../snapshot/stored-object.ts';
import { alteredIn, damageOf, staticDamage } from './damage.ts';
import { servingStatuses } from './servings.ts';
import { remarksOn } from './settings-without-effect.ts';
import type { AuthorityStatus, ConsumerStatus, LeafReport, RunStatus, Status } from './status-types.ts';
import { strandedIn } from './stranded.ts';
import { survey, unusableLine } from './unusable.ts';
import { answer, type Verdicts } from './verify.ts';

/** Why an authority is not Ready; empty: every leaf that it vouches for verifies now. */
export const notReadyIn = (observation: Observation): readonly NotReady[] => {
  const { seen, responsibilities, stored, now } = observation;
  const verdicts: Verdicts = new Map();
  const refusal = (leaf: ObjectId, bundle: ObjectId): string | undefined => {
    const chain = readableCertificates(stored.get(leaf)?.data['tls.crt']);
    const anchors = readableCertificates(stored.get(bundle)?.data[bundleKeyOf(bundle)]);
    if (chain.length === 0) return 'its certificates cannot be read';
    const purposes = responsibilities.leaves.get(leaf)?.spec.usages ?? ['server'];
    const { ok, reason } = answer(verdicts, chain, anchors, purposes, now);
    return ok ? undefined : (reason ?? 'its chain does not verify');
  };
  const lacking = (object: ObjectId): readonly string[] => damageOf(observation, object);
  return notReady(seen, responsibilities.policy, now, refusal, lacking);
};

const issuerNumber = (observation: Observation, object: ObjectSeen | undefined): number | null =>
  observation.record?.state.generations.find(({ anchors }) =>
    anchors.some(({ fingerprint }) => fingerprint === object?.leaf?.issuer),
  )?.number ?? null;

/** The most urgent warning about the end of a CA. */
const expiringIn = ({ notes }: Pick<Plan, 'notes'>): Closeness | null =>
  (['Critical', 'ExpiringSoon'] as const).find((level) => notes.some(({ code }) => code === level)) ?? null;

/** When time alone ends what a step waits for. A hook that fails dates its files again and again until its program has been told of them. */
export const dueIn = (
  { hooks, seen, responsibilities, now }: Observation,
  made: Plan,
): Instant | undefined =>
  hooks.some(({ state }) => state === 'failed')
    ? undefined
    : passesAt(seen, responsibilities.policy, made, now);

/** The status of one authority, for people and programs. */
export const authorityStatus = (
  observation: Observation,
  made: Plan,
  reasons = notReadyIn(observation),
): AuthorityStatus => {
  const { responsibilities, record, seen } = observation;
  const { namespace, name } = responsibilities.authority.metadata;
  const trusted = record === undefined ? [] : trustedOf(record);
  const problems = reasons.map(({ why }) => why);
  const due = dueIn(observation, made);
  const consumers = consumersOf(observation);
  const objects = new Map(seen.objects.map((object) => [object.id, object]));
  const held = [...responsibilities.leaves].map(([secret, leaf]): LeafReport => {
    const object = objects.get(secret);
    return {
      namespace: leaf.metadata.namespace,
      name: leaf.metadata.name,
      secret,
      generation: issuerNumber(observation, object),
      fingerprint: object?.leaf?.fingerprint ?? null,
      notAfter: object?.leaf === undefined ? null : iso(object.leaf.notAfter),
    };
  });
  const refused = responsibilities.refused.map(({ leaf, why }): LeafReport => {
    const [inNamespace = '', leafName = ''] = leaf.split('/');
    return {
      namespace: inNamespace,
      name: leafName,
      secret: '',
      generation: null,
      fingerprint: null,
      notAfter: null,
      refused: why,
    };
  });
  return {
    namespace,
    name,
    phase: made.phase,
    ready: problems.length === 0,
    notReady: problems.slice(0, MOST_NAMED),
    generations: (record?.state.generations ?? []).map(({ number, role, anchors }) => ({
      generation: number,
      role,
      fingerprint: anchors[0].fingerprint,
      notBefore: iso(anchors[0].notBefore),
      notAfter: iso(anchors[0].notAfter),
      ...trustedStill(made, number),
    })),
    bundleHash: trusted.length === 0 ? undefined : bundleOf(trusted).hash,
    blockedBy: made.blockedBy
      .slice(0, MOST_NAMED)
      .map((blocker) => ({ ...blocker, since: iso(blocker.since) })),
    leaves: [...held, ...refused],
    consumers,
    evidence: countEvidence(consumers.map(({ evidence }) => [evidence, 1])),
    restsOnTime: restsOnTime(seen, responsibilities.policy),
    hooks: observation.hooks,
    wakeAt: made.wakeAt === undefined ? null : iso(made.wakeAt),
    dueAt: due === undefined ? null : iso(due),
    expiring: expiringIn(made),
    notes: [
      ...clockBehind(observation),
      ...made.notes.map(({ object, message }) => `${object}: ${message}`),
      ...alterations(observation).filter((line) => !problems.includes(line)),
      ...obstacles(observation),
    ],
    next: explain(made),
  };
};

const trustedStill = (
  { retained }: Plan,
  number: number,
): Pick<AuthorityStatus['generations'][number], 'trustedUntil' | 'trustedFor'> => {
  const found = retained.find(({ generation }) => generation === number);
  if (found === undefined) return {};
  return {
    trustedUntil: iso(found.until),
    trustedFor: [
      ...found.elsewhere.slice(0, MOST_NAMED),
      ...(found.unseen ? ['leaves whose users cannot be seen'] : []),
    ],
  };
};

/** Files that another program changed. */
const alterations = (observation: Observation): readonly string[] =>
  alteredIn(observation)
    .map(({ object, problem }) => `${object}: ${problem}`)
    .slice(0, MOST_NAMED);

/** Objects that cannot be written, with the reason. */
const obstacles = ({ seen }: Observation): readonly string[] =>
  seen.objects
    .flatMap(({ id, obstacle }) => (obstacle === undefined ? [] : [`${id}: ${obstacle}`]))
    .slice(0, MOST_NAMED);

const CLOCK_SLACK = hour;
/** Where the clock is this machine's own, nothing is changed while it is behind what was written here. */
const clockBehind = ({ record, responsibilities, now }: Observation): readonly string[] => {
  const latest = Math.max(...(record?.state.generations ?? []).map(({ since }) => since));
  if (!responsibilities.oneOwner || !(latest > now + CLOCK_SLACK)) return [];
  return [
    `the clock says ${iso(now)}, but this Authority last changed at ${iso(instant(latest))}, so that Handover does not change it; set the clock, or if it is right: handover clock --confirm`,
  ];
};

const consumersOf = (observation: Observation): readonly ConsumerStatus[] => {
  const { seen, responsibilities, now } = observation;
  const standing = new Map(
    standings(seen, responsibilities.policy, now).map((each) => [each.consumer, each]),
  );
  // Most consumers hold the same CAs.
  const hashes = new Map<string, string | null>();
  const hashed = (anchors: readonly string[]): string | null => {
    const key = anchors.join();
    const known = hashes.get(key);
    if (known !== undefined) return known;
    const hash = hashOf(observation, anchors);
    hashes.set(key, hash);
    return hash;
  };
  const shown = servingsIn(observation);
  return seen.consumers.map((consumer): ConsumerStatus => {
    const { by, at, trustsUntilRestarted: old } = standing.get(consumer.id) ?? {};
    const proof = proofOf(consumer);
    const since = at ?? (by === undefined || by === proof?.by ? proof?.at : undefined);
    const anchors = consumer.instances
      .flatMap(({ proofs }) => proofs)
      .find(({ complete, anchors: all = [] }) => complete === true && all.length > 0)?.anchors;
    return {
      name: consumer.id,
      kind: consumer.reload,
      evidence: by ?? proof?.by ?? null,
      stands: standsOn(by ?? proof?.by),
      hash: anchors === undefined ? null : hashed(anchors),
      at: since === undefined ? null : iso(since),
      ...remarkOf(consumer, old),
      shows: servingStatuses(shown.get(consumer.id) ?? []),
    };
  });
};

const remarkOf = (
  { instances }: ConsumerSeen,
  trustsUntilRestarted: number | undefined,
): Pick<ConsumerStatus, 'remark'> => {
  if (trustsUntilRestarted !== undefined)
    return { remark: `trusts CA generation ${trustsUntilRestarted} until restarted` };
  const said = instances.find(({ confirmedBy }) => confirmedBy !== undefined);
  return said?.createdAt === undefined
    ? {}
    : { remark: `restarted before ${iso(said.createdAt)}, by the word of ${said.confirmedBy}` };
};

/** Its strongest evidence, even if that is of an older generation. */
const proofOf = ({ instances }: ConsumerSeen): Proof | undefined =>
  instances
    .flatMap((instance) => instance.proofs)
    .filter(({ anchors, issuer }) => (anchors?.length ?? 0) > 0 || (issuer ?? 'unknown') !== 'unknown')
    .sort((a, b) => byStrength(a.by, b.by))[0];

/** The hash of a set of CAs, to be compared with `bundleHash`; null: one of them is not known here. */
const hashOf = (observation: Observation, fingerprints: readonly string[]): string | null => {
  const found = fingerprints.flatMap(
    (fingerprint) => observation.record?.certificates.get(fingerprint) ?? [],
  );
  return found.length === fingerprints.length && found.length > 0 ? bundleOf(found).hash : null;
};

/** How one authority stands: status, plan and record of one observation. */
export interface AuthorityStanding {
  readonly status: AuthorityStatus;
  readonly plan: Plan;
  readonly observation: Observation;
  readonly notReady: readonly NotReady[];
}

export async function standingOf(read: ReadSnapshot, id: AuthorityId): Promise<AuthorityStanding> {
  const observation = await observeWithRetry(read, id);
  const made = plan(observation.seen, observation.responsibilities.policy, observation.now);
  const notReady = notReadyIn(observation);
  return { status: authorityStatus(observation, made, notReady), plan: made, observation, notReady };
}

/** What is wrong with one authority, beyond what has yet to be made for the first time. */
const wrongIn = ({ status, observation, notReady }: AuthorityStanding): readonly string[] => [
  ...new Set([
    ...notReady.flatMap(({ why, yetToBeMade }) => (yetToBeMade ? [] : [why])).slice(0, MOST_NAMED),
    ...status.leaves.flatMap(({ namespace, name, refused }) =>
      refused === undefined ? [] : [`Leaf ${namespace}/${name}: ${refused}`],
    ),
    ...alterations(observation),
  ]),
];

/** The whole home, or one authority of it. Reads only. */
export async function statusOf(read: ReadSnapshot, only?: AuthorityId): Promise<Status> {
  const snapshot = await read();
  const { found, unusable } = await survey(snapshot, only, async (id) => {
    const standing = await standingOf(read, id);
    const { status, plan: made, observation } = standing;
    const expiring = made.notes.flatMap(({ code, object, message }) =>
      code === 'Critical' || code === 'ExpiringSoon'
        ? [`${code}: Authority ${id}: ${object} ${message}`]
        : [],
    );
    const history = only === undefined ? {} : { history: historyOf(observation.record?.history) };
    const wrong = wrongIn(standing).map((line) => `Authority ${id}: ${line}`);
    return { status: { ...status, ...history }, expiring, wrong };
  });
  const rest = await restOfStatus(snapshot, unusable);
  const stranded = (await strandedIn(snapshot, only)).map(({ object, problem }) => `${object}: ${problem}`);
  return {
    authorities: found.map(({ status }) => status),
    unusable,
    wrong: [...unusable.map(unusableLine), ...found.flatMap(({ wrong }) => wrong)],
    ...rest,
    remarks: [
      ...found.flatMap(({ expiring }) => expiring),
      ...stranded.slice(0, MOST_NAMED),
      ...rest.remarks,
    ],
  };
}

const runStatus = ({ run }: Snapshot): RunStatus | null => {
  if (run === undefined) return null;
  const { pid = null, lastAt, problems } = run();
  return {
    pid,
    lastAt: lastAt === undefined ? null : iso(lastAt),
    problems: problems.map((one) => ({ ...one, since: iso(one.since), at: iso(one.at) })),
  };
};

/** The status of everything that belongs to no authority. */
export async function restOfStatus(
  snapshot: Snapshot,
  said: readonly Unusable[] = [],
): Promise<Pick<Status, 'trustBundles' | 'tlsProfiles' | 'run' | 'remarks'>> {
  const { catalogue } = snapshot;
  const trustBundles = await Promise.all(
    catalogue.trustBundles.map(async (bundle) => ({
      name: bundle.metadata.name,
      targets: await Promise.all(
        targetsOf(bundle, catalogue).map(async (object) => {
          const data = (await snapshot.objects.read(object))?.data ?? {};
          const certificates = readableCertificates(Object.values(data)[0]);
          const hash = certificates.length === 0 ? null : bundleOf(certificates).hash;
          return { object, certificates: certificates.length, hash };
        }),
      ),
      hook: await hookNamed(snapshot, `TrustBundle ${bundle.metadata.name}`),
    })),
  );
  const tlsProfiles = await Promise.all(
    catalogue.tlsProfiles.map(async (profile) => {
      const { namespace, name } = profile.metadata;
      const base = { namespace, name, type: profile.spec.type };
      try {
        const cluster = profile.spec.type === 'OpenShift' ? await snapshot.profiles?.cluster() : undefined;
        const { hash, json, warnings } = resolveProfile(profile, cluster);
        const stored = await snapshot.objects.read(profileObjectOf(profile));
        const written = sameBytes(stored?.data['profile.json'], bytesOf(json));
        return { ...base, hash, written, problems: warnings.map(({ message }) => message) };
      } catch (error) {
        if (!(error instanceof HandoverError)) throw error;
        return { ...base, hash: null, written: false, problems: [error.message] };
      }
    }),
  );
  const damaged = (await staticDamage(snapshot)).map(({ object, problem }) => `${object}: ${problem}`);
  const remarks = [
    ...damaged.slice(0, MOST_NAMED),
    ...remarksOn(catalogue, snapshot.facts.consumersFound, said),
  ];
  return { trustBundles, tlsProfiles, run: runStatus(snapshot), remarks };
}
