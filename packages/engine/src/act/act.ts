import type {
  Action,
  BundleWrite,
  LeafSeen,
  LeafWrite,
  ObjectSeen,
  Reissue,
  RotationStep,
  StampAction,
} from '@handover/core';
import { bytesOf, type Certificate, encodePem, type Instant, PrivateKey } from '@handover/material';
import { EngineError } from '../error.ts';
import type { Observation } from '../observe/observe.ts';
import type { Contents, FileData, Home, ObjectId, ObjectRecord } from '../snapshot/home.ts';
import type { Issuer, KeyRef, SigningCa } from '../snapshot/keyring.ts';
import { outputFiles, outputsRecord } from '../snapshot/outputs.ts';
import { type Extras, specOf } from '../snapshot/responsibilities.ts';
import { sealed } from '../snapshot/seal.ts';
import { trustedOf } from '../snapshot/shared-bundles.ts';
import {
  bundleKeyOf,
  digestOf,
  pemFile,
  readableCertificates,
  readableLeaf,
  rememberLeaf,
} from '../snapshot/stored-object.ts';
import { loggedIssuer } from './logged-issuer.ts';
import { recordIssuance, swapAuthority } from './swap.ts';

/** Asks the program that writes an object for a new leaf. */
export async function reissue({ reissues }: Home, { object, expect, why }: Reissue): Promise<void> {
  if (reissues === undefined) throw new TypeError(`${object} has a writer that this home cannot ask`);
  await reissues.ask(object, expect, why);
}

/** Carries out one action of a plan that was made on `sight`. */
export async function act(home: Home, observation: Observation, action: Action): Promise<void> {
  switch (action.kind) {
    case 'write-bundle':
      return writeBundle(home, observation, action);
    case 'write-leaf':
      return writeLeaf(home, observation, action);
    case 'reissue':
      return reissue(home, action);
    case 'stamp':
      return stamp(home, observation, action);
    case 'mint':
    case 'activate':
    case 'retire':
    case 'drop':
    case 'distrust':
    case 'distrust-done':
      return swapAuthority(home, observation, action);
    case 'record-issuance':
      return recordIssuance(home, observation, action);
    default:
      return action satisfies never;
  }
}

/** The issuer of this home, with its log. */
export const issuerFor = (home: Home, observation: Observation, action: RotationStep | LeafWrite): Issuer =>
  loggedIssuer(home.issuer, home.ledger, observation, action, home.clock.now());

async function stamp(home: Home, observation: Observation, { consumer, stamp }: StampAction): Promise<void> {
  if (home.rollouts === undefined) {
    throw new EngineError(
      'ROLLOUT_UNSUPPORTED',
      `${consumer} has to be restarted, and this home restarts nothing; restart it by hand`,
      { path: consumer },
    );
  }
  const version = observation.workloads.get(consumer);
  if (version === undefined) throw new TypeError(`${consumer} has a workload without a version`);
  await home.rollouts.stamp(consumer, version, stamp, observation.responsibilities.id);
}

const sightOf = (observation: Observation, id: ObjectId): ObjectSeen | undefined =>
  observation.seen.objects.find((object) => object.id === id);

/** Certificates by fingerprint, from wherever this authority or the object itself has them. */
const certificatesFor = (
  observation: Observation,
  id: ObjectId | undefined,
  fingerprints: readonly string[],
): readonly Certificate[] => {
  const found = new Map<string, Certificate>(observation.record?.certificates);
  const places = id === undefined ? [...observation.stored.keys()] : [id];
  const missing = () => fingerprints.some((fingerprint) => !found.has(fingerprint));
  for (const extra of observation.responsibilities.bundles.get(id ?? '')?.certificates ?? [])
    found.set(extra.fingerprint, extra);
  for (const place of places) {
    if (!missing()) break;
    const data = observation.stored.get(place)?.data ?? {};
    for (const file of [data[bundleKeyOf(place)], data['tls.crt']])
      for (const certificate of readableCertificates(file)) found.set(certificate.fingerprint, certificate);
  }
  return fingerprints.map((fingerprint) => {
    const certificate = found.get(fingerprint);
    if (certificate !== undefined) return certificate;
    throw new EngineError(
      'STATE_INCOMPLETE',
      `${observation.responsibilities.id}: the state names certificate ${fingerprint.slice(0, 16)}… and does not hold it; restore the state`,
      { path: observation.responsibilities.id },
    );
  });
};

/** What is remembered about the new content, given what was there. */
const recordOf = (
  observation: Observation,
  action: BundleWrite | LeafWrite,
  data: FileData,
  anchors: readonly Certificate[],
  at: Instant,
): ObjectRecord => {
  const found = observation.stored.get(action.object);
  const stored = found?.record;
  // A change by another program since our last write is dated now: nothing in it is older.
  const intact = found !== undefined && stored?.digest === digestOf(found.data);
  const held = new Map((intact ? stored.anchors : []).map(({ fingerprint, since }) => [fingerprint, since]));
  const same = held.size === anchors.length && anchors.every(({ fingerprint }) => held.has(fingerprint));
  const { others } = observation.responsibilities.bundles.get(action.object) ?? {};
  return {
    digest: digestOf(data),
    revisions: { ...stored?.revisions, [observation.responsibilities.id]: action.revision },
    anchors: anchors.map(({ fingerprint }) => ({ fingerprint, since: held.get(fingerprint) ?? at })),
    changedAt: same && stored !== undefined ? stored.changedAt : at,
    ...(others === undefined || others.size === 0
      ? {}
      : { sources: sourcesOf(observation, others, anchors, intact ? stored.sources : undefined, at) }),
    ...(stored?.type === undefined ? {} : { type: stored.type }),
    ...outputsRecord(observation.outputs.get(action.object)),
  };
};

/** Whose each CA in a shared bundle is: what another authority changes in it is none of this one's changes. */
const sourcesOf = (
  { responsibilities, record }: Observation,
  others: Extras['others'],
  anchors: readonly Certificate[],
  before: ObjectRecord['sources'],
  at: Instant,
): NonNullable<ObjectRecord['sources']> => {
  const there = new Set(anchors.map(({ fingerprint }) => fingerprint));
  const own = record === undefined ? [] : trustedOf(record);
  const all = [[responsibilities.id, own] as const, ...others].map(([id, certificates = []]) => {
    const held = certificates.map(({ fingerprint }) => fingerprint).filter((one) => there.has(one));
    const last = before?.[id];
    const same = last?.anchors.length === held.length && held.every((one) => last.anchors.includes(one));
    return [id, { anchors: held, since: same && last !== undefined ? last.since : at }] as const;
  });
  return Object.fromEntries(all);
};

async function writeBundle(home: Home, observation: Observation, action: BundleWrite): Promise<void> {
  const { leading = 0, certificates: extras = [] } =
    observation.responsibilities.bundles.get(action.object) ?? {};
  const first = new Set(extras.slice(0, leading).map(({ fingerprint }) => fingerprint));
  const order = [...first, ...action.anchors.filter((fingerprint) => !first.has(fingerprint))].filter(
    (fingerprint) => action.anchors.includes(fingerprint),
  );
  const anchors = certificatesFor(observation, action.object, order);
  const data = {
    [bundleKeyOf(action.object)]: pemFile(anchors),
    ...outputFiles(observation.outputs.get(action.object), { anchors }),
  };
  await home.objects.write(action.object, action.expect, (at) =>
    contentsOf(observation, action.object, data, recordOf(observation, action, data, anchors, at)),
  );
}

const contentsOf = (
  observation: Observation,
  object: ObjectId,
  data: FileData,
  record: ObjectRecord,
): Contents => {
  const { responsibilities, record: authority } = observation;
  if (authority === undefined) throw new TypeError('nothing is written before there is an authority');
  const others = responsibilities.bundles.get(object)?.sealKeys;
  return { data, record, seal: sealed(object, record, responsibilities.id, authority.sealKey, others) };
};

async function writeLeaf(home: Home, observation: Observation, action: LeafWrite): Promise<void> {
  const anchors = certificatesFor(observation, action.object, action.anchors);
  const behind =
    action.chain === undefined ? undefined : certificatesFor(observation, action.object, action.chain);
  const made =
    action.issue === undefined
      ? kept(observation, action)
      : await issued(home, observation, action, action.issue);
  const chain = [made.leaf, ...(behind ?? made.behind)] as const;
  const data = {
    'tls.crt': pemFile(chain),
    'tls.key': made.key,
    'ca.crt': pemFile(anchors),
    ...outputFiles(observation.outputs.get(action.object), { anchors, leaf: { chain, key: made.key } }),
  };
  rememberLeaf(data, { chain, key: made.key });
  const labels = observation.responsibilities.leaves.get(action.object)?.metadata.labels ?? {};
  const stored = observation.stored.get(action.object)?.record?.leaf;
  const before = sightOf(observation, action.object)?.leaf;
  await home.objects.write(action.object, action.expect, (at): Contents => {
    const same = before?.issuer === made.issuer;
    const { issue } = action;
    const leaf: LeafSeen = {
      fingerprint: made.leaf.fingerprint,
      issuer: made.issuer,
      chain: chain.slice(1).map(({ fingerprint }) => fingerprint),
      notBefore: made.leaf.notBefore,
      notAfter: made.leaf.notAfter,
      spec: made.spec,
      writtenAt: issue === undefined ? (stored?.writtenAt ?? at) : at,
      issuerSince: same ? (stored?.issuerSince ?? at) : at,
      replacedOne: issue === undefined ? (before?.replacedOne ?? false) : issue.replacesOne,
      othersExpire: issue === undefined ? before?.othersExpire : issue.othersExpire,
    };
    return contentsOf(observation, action.object, data, {
      ...recordOf(observation, action, data, anchors, at),
      issuedBy: observation.responsibilities.id,
      type: 'kubernetes.io/tls',
      ...(Object.keys(labels).length === 0 ? {} : { labels }),
      leaf,
    });
  });
}

interface LeafMade {
  readonly leaf: Certificate;
  readonly behind: readonly Certificate[];
  readonly key: Uint8Array;
  readonly issuer: string;
  readonly spec: string;
}

const kept = (observation: Observation, action: LeafWrite): LeafMade => {
  const found = readableLeaf(observation.stored.get(action.object)?.data ?? {});
  const before = sightOf(observation, action.object)?.leaf;
  if (found === undefined || before === undefined) {
    throw new EngineError('CONFLICT', `${action.object} lost its leaf meanwhile`, {
      retry: 'now',
      path: action.object,
    });
  }
  const [leaf, ...behind] = found.chain;
  return { leaf, behind, key: found.key, issuer: before.issuer, spec: before.spec };
};

const issued = async (
  home: Home,
  observation: Observation,
  action: LeafWrite,
  { generation, notBefore, notAfter, keepsKey }: NonNullable<LeafWrite['issue']>,
): Promise<LeafMade> => {
  const asked = observation.responsibilities.leaves.get(action.object);
  if (asked === undefined) throw new TypeError(`no Leaf asks for ${action.object}`);
  const by = await signingCa(home, caOf(observation, generation));
  const { certificate, key } = await issuerFor(home, observation, action).leaf({
    leaf: asked,
    by,
    key: keepsKey === true ? keyOf(observation, action.object, asked.spec.key) : undefined,
    notBefore,
    notAfter,
  });
  return {
    leaf: certificate,
    behind: [],
    key: bytesOf(encodePem('PRIVATE KEY', key.key.export({ type: 'pkcs8', format: 'der' }))),
    issuer: by.certificate.fingerprint,
    spec: specOf(asked),
  };
};

/** The key that the leaf in the Secret has; undefined: it has none that fits the leaf, or one of another algorithm. */
const keyOf = (observation: Observation, object: ObjectId, algorithm: string): PrivateKey | undefined => {
  const found = readableLeaf(observation.stored.get(object)?.data ?? {});
  const key = found === undefined ? undefined : PrivateKey.parse(found.key);
  return key?.algorithm === algorithm ? key : undefined;
};

interface Ca {
  readonly certificate: Certificate;
  readonly key: KeyRef;
}

export const signingCa = async (home: Home, { certificate, key }: Ca): Promise<SigningCa> => ({
  certificate,
  signer: await home.keyring.open(key),
});

/** Certificate and key of a generation that signs. */
export const caOf = (observation: Observation, number: number): Ca => {
  const generation = observation.record?.state.generations.find((candidate) => candidate.number === number);
  const key = observation.record?.keys.get(number);
  if (generation === undefined || key === undefined) {
    throw new EngineError(
      'STATE_INCOMPLETE',
      `${observation.responsibilities.id}: the key of generation ${number} is not in the state; restore the state, or ask for a rotation`,
      { path: observation.responsibilities.id },
    );
  }
  const [certificate] = certificatesFor(observation, undefined, [generation.anchors[0].fingerprint]);
  if (certificate === undefined) throw new TypeError('a generation without a certificate');
  return { certificate, key };
};
