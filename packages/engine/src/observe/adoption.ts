import type { Anchor } from '@handover/core';
import {
  type Certificate,
  HandoverError,
  type Instant,
  instant,
  isExpired,
  iso,
  PrivateKey,
  parseCertificates,
} from '@handover/material';
import { EngineError, type EngineErrorCode } from '../error.ts';
import { certificatesBesideJunk } from '../snapshot/beside-junk.ts';
import { ownBundleOf } from '../snapshot/catalogue.ts';
import type { ObjectId, StoredObject } from '../snapshot/home.ts';
import { LocalKey } from '../snapshot/local-key.ts';
import { anchorOf, type Responsibilities } from '../snapshot/responsibilities.ts';
import type { Adoption, ObjectReader, Orphaned } from '../snapshot/snapshot.ts';
import { bundleKeyOf, readableCertificates } from '../snapshot/stored-object.ts';
import { whyItCannotSign } from './adoption-trial.ts';

const NOTHING: Adoption = { certificates: [], missing: [] };

const newestFirst = (certificates: Iterable<Certificate>): readonly Certificate[] =>
  [...new Map([...certificates].map((one) => [one.fingerprint, one])).values()].sort(
    (a, b) => b.notBefore - a.notBefore || (a.fingerprint < b.fingerprint ? -1 : 1),
  );

/** Objects that this authority keeps in its own namespace. Nothing that lies elsewhere says what it trusts. */
export const ownObjects = (
  { authority, leaves }: Responsibilities,
  stored: ReadonlyMap<ObjectId, StoredObject>,
): readonly (readonly [ObjectId, StoredObject])[] => {
  const { namespace } = authority.metadata;
  const own = ownBundleOf(authority);
  return [...stored].filter(([id]) => id === own || (leaves.has(id) && id.startsWith(`${namespace}/`)));
};

export const casIn = (id: ObjectId, { data }: StoredObject, now: Instant): readonly Certificate[] =>
  certificatesBesideJunk(data[bundleKeyOf(id)]).filter((one) => one.isCa && !isExpired(one, now));

/** A Secret of a CA: certificate and key, as cert-manager and openssl users keep it. */
const withKey = async (id: ObjectId, { data }: StoredObject, now: Instant): Promise<Adoption | undefined> => {
  const [ca] = readableCertificates(data['tls.crt']);
  const pem = data['tls.key'];
  if (ca?.isCa !== true || pem === undefined) return undefined;
  const refuse = (why: string): never => {
    throw new EngineError('ADOPT_REFUSED', `${id}: ${why}`, { path: id });
  };
  const instead = 'adopt it without its key, by spec.adopt.fingerprints, or begin without it';
  const key = PrivateKey.parse(pem, `${id}, tls.key`);
  if (!key.matches(ca)) return refuse('tls.key is not the key of the CA in tls.crt; put the right one there');
  if (!isRoot(ca))
    return refuse(
      'the CA in tls.crt is signed by another CA, and many programs accept only a root as an anchor; adopt its root by spec.adopt.fingerprints',
    );
  const trouble = await whyItCannotSign(ca, key, now);
  if (trouble !== undefined) return refuse(`the CA in tls.crt cannot sign here: ${trouble}; ${instead}`);
  return { certificates: [ca], key: new LocalKey(key), missing: [] };
};

/** OpenSSL and GnuTLS accept an intermediate as an anchor only with a flag that few programs set. */
const isRoot = ({ issuerKey, subjectKey }: Certificate): boolean => issuerKey === subjectKey;

/**
 * With the leaves that it signed before. Nothing here shows them, so that a CA whose key will be destroyed counts until its own end. A key that others
 * keep is never destroyed: such a CA stays trusted for as long as its owner says, and no longer.
 */
const lasting = (adoption: Adoption, lastLeafEnds: Instant | undefined): Adoption => {
  const { certificates, key } = adoption;
  const end = Math.max(...certificates.map(({ notAfter }) => notAfter));
  if (certificates.length === 0 || (key === undefined && lastLeafEnds === undefined)) return adoption;
  return { ...adoption, leavesUntil: instant(Math.min(end, lastLeafEnds ?? end)) };
};

const KEYLESS = 'or adopt it without its key: leave out --key';

/** What `read` makes of a file; an error names that file. */
const named = <T>(path: string, read: () => T): T => {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof HandoverError)) throw error;
    throw new EngineError(error.code, `${path}: ${error.message}`, { path, cause: error });
  }
};

/** A CA from files that a person names. Refuses one that peers would not accept as an anchor, or that could not sign what follows. */
export async function adoptionFrom(
  given: {
    readonly certificate: Uint8Array;
    readonly key: Uint8Array | undefined;
    readonly lastLeafEnds?: Instant | undefined;
  },
  names: { readonly certificate: string; readonly key: string },
  now: Instant,
): Promise<Adoption> {
  const path = names.certificate;
  const refuse = (code: EngineErrorCode, why: string): never => {
    throw new EngineError(code, `${path}: ${why}`, { path });
  };
  const { certificates } = named(path, () => parseCertificates(given.certificate));
  const [ca] = certificates;
  if (ca === undefined || certificates.length > 1)
    return refuse(
      'ADOPT_AMBIGUOUS',
      `holds ${certificates.length} certificates; give a file with the root CA alone`,
    );
  if (!ca.isCa) return refuse('ADOPT_NOT_CA', `${ca.subject} is not a CA; give the certificate of the CA`);
  if (isExpired(ca, now))
    return refuse(
      'ADOPT_EXPIRED',
      `${ca.subject} expired at ${iso(ca.notAfter)}, and no peer accepts it any more; begin with a new CA: handover run`,
    );
  if (!isRoot(ca))
    return refuse(
      'ADOPT_NOT_ROOT',
      `${ca.subject} is signed by another CA, and many programs accept only a root as an anchor; give that root`,
    );
  if (given.key === undefined) return lasting({ certificates: [ca], missing: [] }, given.lastLeafEnds);
  const key = PrivateKey.parse(given.key, names.key);
  if (!key.matches(ca))
    return refuse('ADOPT_KEY_MISMATCH', `${names.key} is not its key; give the key of ${ca.subject}`);
  if (ca.pathLength === 0)
    return refuse(
      'ADOPT_PATH_LENGTH',
      `${ca.subject} has path length 0, so that peers would refuse the cross-certificate of its successor; adopt it without its key: leave out --key`,
    );
  const trouble = await whyItCannotSign(ca, key, now);
  if (trouble !== undefined)
    return refuse('ADOPT_REFUSED', `${ca.subject} cannot sign here: ${trouble}; give another CA, ${KEYLESS}`);
  return lasting({ certificates: [ca], key: new LocalKey(key), missing: [] }, given.lastLeafEnds);
}

/** A neighbour's bundle may hold these too: as many as a handful of CAs takes, and no more. */
const MOST_CAS = 16;
const MOST_CHARACTERS = 65_536;

const fewEnough = (id: ObjectId, cas: readonly Certificate[]): readonly Certificate[] => {
  const certificates = newestFirst(cas);
  const size = certificates.reduce((sum, { pem }) => sum + pem.length, 0);
  if (certificates.length <= MOST_CAS && size <= MOST_CHARACTERS) return certificates;
  throw new EngineError(
    'ADOPT_REFUSED',
    `${id}: ca.crt holds ${certificates.length} CAs in ${size} characters; at most ${MOST_CAS} in ${MOST_CHARACTERS} can be adopted; name those in use by spec.adopt.fingerprints`,
    { path: id },
  );
};

/** The CAs in `ca.crt` of a Secret whose key is not known. */
const withoutKey = (id: ObjectId, found: StoredObject, now: Instant): Adoption => {
  const certificates = fewEnough(id, casIn(id, found, now));
  if (certificates.length > 0) return { certificates, missing: [] };
  const waitsFor =
    'to hold a CA, since spec.adopt names it: in ca.crt, or in tls.crt beside its key in tls.key, as PEM and not expired; add the CA, or correct spec.adopt';
  return { certificates: [], missing: [{ object: id, waitsFor }] };
};

/**
 * What `spec.adopt` of an Authority comes to. Consent is in the spec and names either certificates or an object of the same namespace:
 * no label, no annotation and no other namespace can add to it.
 */
export async function adoptionOf(
  reader: ObjectReader,
  responsibilities: Responsibilities,
  stored: ReadonlyMap<ObjectId, StoredObject>,
  now: Instant,
): Promise<Adoption> {
  const { metadata, spec } = responsibilities.authority;
  if (spec.adopt?.secret !== undefined) {
    const id = `${metadata.namespace}/secrets/${spec.adopt.secret}`;
    const found = stored.get(id) ?? (await reader.read(id));
    if (found !== undefined)
      return lasting((await withKey(id, found, now)) ?? withoutKey(id, found, now), spec.adopt.lastLeafEnds);
    // A Secret that one of its own Leaves asks for is made here: there is nothing to take over yet.
    if (responsibilities.leaves.has(id)) return NOTHING;
    const waitsFor = 'to exist, since spec.adopt names it: create the Secret, or correct spec.adopt';
    return { certificates: [], missing: [{ object: id, waitsFor }] };
  }
  const asked = new Set(spec.adopt?.fingerprints ?? []);
  if (asked.size === 0) return NOTHING;
  const found = ownObjects(responsibilities, stored).flatMap(([id, object]) => casIn(id, object, now));
  const certificates = newestFirst(found.filter(({ fingerprint }) => asked.has(fingerprint)));
  for (const { fingerprint } of certificates) asked.delete(fingerprint);
  const object = `${metadata.namespace}/${metadata.name}`;
  const missing = [...asked].map((fingerprint) => ({
    object,
    waitsFor: `to find the CA ${fingerprint} that spec.adopt names: no bundle and no Leaf's Secret of namespace ${metadata.namespace} holds it; add it to one of them, or correct spec.adopt`,
  }));
  return lasting({ certificates, missing }, spec.adopt?.lastLeafEnds);
}

const AUTHORITY_ID = /^[a-z0-9][-a-z0-9.]{0,252}\/[a-z0-9][-a-z0-9.]{0,252}$/;

/**
 * What a person who says `--overwrite` consents to. The Secrets of an Authority's own Leaves share their CAs: where `spec.adopt` names
 * one of them, the others count as well, so that it does not matter which of them was lost too.
 */
export const consentedBy = ({ responsibilities, stored, adoption = NOTHING, now }: ConsentSeen): Adoption => {
  const { authority, leaves } = responsibilities;
  if (adoption.key !== undefined) return adoption;
  const named = `${authority.metadata.namespace}/secrets/${authority.spec.adopt?.secret}`;
  if (!leaves.has(named)) return adoption;
  const held = ownObjects(responsibilities, stored).filter(([id]) => leaves.has(id));
  const certificates = fewEnough(
    named,
    held.flatMap(([id, object]) => casIn(id, object, now)),
  );
  return certificates.length === 0 ? adoption : { certificates, missing: [] };
};

interface ConsentSeen {
  readonly responsibilities: Responsibilities;
  readonly stored: ReadonlyMap<ObjectId, StoredObject>;
  readonly adoption?: Adoption | undefined;
  readonly now: Instant;
}

export const anchorsOf = ({ certificates }: Adoption): readonly Anchor[] => certificates.map(anchorOf);

/**
 * Objects of this authority, in its own namespace, that hold CAs while its state is gone. A new first generation would replace these CAs in
 * one go, so that every peer that has not reloaded fails: the owner decides.
 */
export const orphanedBy = (
  responsibilities: Responsibilities,
  stored: ReadonlyMap<ObjectId, StoredObject>,
  adoption: Adoption,
  now: Instant,
): readonly Orphaned[] => {
  const writable = [...stored].filter(([, { obstacle }]) => obstacle === undefined);
  return undecidedIn(responsibilities, new Map(writable), adoption, now);
};

/** The same, whether or not the objects may be written at this moment. */
export const undecidedIn = (
  responsibilities: Responsibilities,
  stored: ReadonlyMap<ObjectId, StoredObject>,
  adoption: Adoption,
  now: Instant,
): readonly Orphaned[] => {
  const adopted = new Set(adoption.certificates.map(({ fingerprint }) => fingerprint));
  const orphaned = ownObjects(responsibilities, stored).flatMap(([object, found]) => {
    const unknown = casIn(object, found, now).filter(({ fingerprint }) => !adopted.has(fingerprint));
    if (unknown.length === 0) return [];
    const list = unknown.map(({ fingerprint }) => fingerprint).join(', ');
    const maker = found.claim?.seal.by ?? '';
    // Only a word in a sentence: a claim decides nothing.
    const isOthers = maker !== responsibilities.id && AUTHORITY_ID.test(maker);
    const why = isOthers
      ? `it holds a CA of Authority ${maker}; if you renamed that Authority, take its old name again`
      : 'it holds a CA whose state is missing; restore the state';
    const secret = responsibilities.authority.spec.adopt?.secret;
    const keep =
      secret === undefined
        ? `set spec.adopt.fingerprints to [${list}]`
        : `add it (${list}) to ca.crt of the Secret ${secret}, which spec.adopt names,`;
    return [
      {
        object,
        waitsFor: `to be decided on: ${why}, or ${keep} to keep trusting that CA, or delete the object to start with a new CA`,
      },
    ];
  });
  return [...adoption.missing, ...orphaned];
};

/** Where no process begins by itself: CAs that only a run with `--overwrite` would take over. */
export const awaitingOverwrite = (
  responsibilities: Responsibilities,
  stored: ReadonlyMap<ObjectId, StoredObject>,
  { certificates, key }: Adoption,
): readonly Orphaned[] => {
  const [holder] = ownObjects(responsibilities, stored);
  if (holder === undefined || certificates.length === 0 || key !== undefined) return [];
  const waitsFor =
    'to be decided on: it holds a CA whose state is missing, or that another program made; restore the state, or run handover certgen with --overwrite to keep trusting that CA until a new CA has replaced it';
  return [{ object: holder[0], waitsFor }];
};
