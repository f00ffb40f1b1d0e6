import type { TrustBundle } from '@handover/core';
import {
  bundleKeyOf,
  digestOf,
  type Home,
  type ObjectId,
  pemFile,
  readableCertificates,
  type Snapshot,
  type StoredObject,
  tryAll,
} from '@handover/engine';
import { type Certificate, type Instant, sameBytes } from '@handover/material';
import { OperatorError } from '../error.ts';
import type { Place } from '../objects/place.ts';
import type { ObjectProjection } from '../objects/projection.ts';
import { certificatesUnder, readHeldBundle } from '../resources/certificates-under.ts';
import { sourcesOf } from '../resources/resolved-resources.ts';
import { merged } from './merge.ts';

const CONCURRENT_WRITES = 8;
const MOST_KNOWN = 1_000;

interface ForeignOptions {
  readonly home: Home;
  readonly snapshot: Snapshot;
  readonly objects: readonly ObjectId[];
  readonly held: (place: Place) => Promise<ObjectProjection | undefined>;
  /** Whether a field was another controller's and is being taken over: what it holds came from the same source. */
  readonly inherited: (id: ObjectId) => Promise<boolean>;
}

/**
 * Keeps caBundles whose source another program owns. Certificates that were put into a field are remembered by their fingerprints in
 * its record; the certificates themselves are in the field, or in memory after the field was overwritten.
 */
export class ForeignBundles {
  readonly #known = new Map<string, Certificate>();

  /** How many fields had to be written. */
  async reconcile(bundle: TrustBundle, options: ForeignOptions): Promise<number> {
    const { home, snapshot, objects, inherited } = options;
    const source = await sourceOf(bundle, options);
    this.#remember(source);
    const now = home.clock.now();
    let writes = 0;
    await tryAll(objects, CONCURRENT_WRITES, async (id) => {
      if (await this.#keepOne(home, snapshot, id, source, now, inherited)) writes++;
    });
    return writes;
  }

  async #keepOne(
    home: Home,
    snapshot: Snapshot,
    id: ObjectId,
    source: readonly Certificate[],
    now: Instant,
    inherited: ForeignOptions['inherited'],
  ): Promise<boolean> {
    const stored = await snapshot.objects.read(id);
    if (stored === undefined) return false;
    if (stored.obstacle !== undefined)
      throw new OperatorError('OBJECT_OBSTACLE', `${id}: ${stored.obstacle}`, { path: id, retry: 'later' });
    const key = bundleKeyOf(id);
    const before =
      stored.record === undefined && (await inherited(id))
        ? readableCertificates(stored.data[key])
        : this.#putThere(stored, key, source);
    const anchors = merged(source, before, now);
    const data = { [key]: pemFile(anchors) };
    if (sameBytes(stored.data[key], data[key]) && stored.record?.digest === digestOf(stored.data))
      return false;
    const since = new Map(stored.record?.anchors.map((anchor) => [anchor.fingerprint, anchor.since]));
    await home.objects.write(id, stored.version, (at) => ({
      data,
      record: {
        digest: digestOf(data),
        revisions: {},
        anchors: anchors.map(({ fingerprint }) => ({ fingerprint, since: since.get(fingerprint) ?? at })),
        changedAt: at,
      },
    }));
    return true;
  }

  /** Certificates that we had put there and that the source no longer has. */
  #putThere(
    { record, data }: StoredObject,
    key: string,
    source: readonly Certificate[],
  ): readonly Certificate[] {
    const present = new Set(source.map(({ fingerprint }) => fingerprint));
    const old = (record?.anchors ?? []).filter(({ fingerprint }) => !present.has(fingerprint));
    if (old.some(({ fingerprint }) => !this.#known.has(fingerprint))) {
      const ours = new Set(old.map(({ fingerprint }) => fingerprint));
      this.#remember(readableCertificates(data[key]).filter(({ fingerprint }) => ours.has(fingerprint)));
    }
    return old.flatMap(({ fingerprint }) => this.#known.get(fingerprint) ?? []);
  }

  #remember(certificates: readonly Certificate[]): void {
    for (const certificate of certificates) this.#known.set(certificate.fingerprint, certificate);
    for (const oldest of this.#known.keys()) {
      if (this.#known.size <= MOST_KNOWN) break;
      this.#known.delete(oldest);
    }
  }
}

/** Of a bundle that was made from annotations: one Secret, or the API server's own CA. */
const sourceOf = async (
  bundle: TrustBundle,
  { snapshot, held }: ForeignOptions,
): Promise<readonly Certificate[]> => {
  const missing = (why: string): never => {
    throw new OperatorError('SOURCE_MISSING', `${why}; what was injected from it is kept`, {
      path: bundle.metadata.name,
      retry: 'later',
    });
  };
  const [place] = sourcesOf(bundle, snapshot.facts.trustNamespace);
  if (place === undefined) {
    const { certificates, why } = readHeldBundle(bundle.spec.sources[0]?.inline, 'the API server’s CA');
    return why === undefined ? certificates : missing(why);
  }
  const name = `Secret ${place.namespace}/${place.name}`;
  const found = await held(place);
  if (found === undefined) return missing(`${name} does not exist`);
  const { certificates, why } = certificatesUnder(found, place.part);
  return why === undefined ? certificates : missing(`${name}: ${why}`);
};
