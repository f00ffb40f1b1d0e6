import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { type KeyPair, type KeySource, parseResources } from '@handover/core';
import {
  duration,
  type Instant,
  instant,
  parseCertificates,
  VirtualClock,
  verifyChain,
} from '@handover/material';
import { parseAllDocuments } from 'yaml';
import {
  type AuthorityReader,
  type Catalogue,
  catalogueOf,
  type Home,
  issuerWith,
  localKeyring,
  MemoryAuthorities,
  MemoryObjects,
  type ObjectReader,
  OutputPreparer,
  type ProfileReader,
  type ProfileWriter,
  type Readers,
  readSnapshot,
  type StoredObject,
} from '../src/index.ts';

/** A deck of keys used in turn, so that tests do not spend time on key generation; nothing depends on distinct keys. */
const deck: KeyPair[] = Array.from({ length: 64 }, () =>
  generateKeyPairSync('ec', { namedCurve: 'prime256v1' }),
);
let dealt = 0;
export const dealKey: KeySource = () => deck[dealt++ % deck.length] as KeyPair;

export const resourcesOf = (yaml: string) =>
  parseResources(
    parseAllDocuments(yaml).map((document, index) => ({ value: document.toJS(), where: `#${index}` })),
  );
export const catalogue = (yaml: string) => catalogueOf(resourcesOf(yaml));

export const MESH = `
apiVersion: handover.dev/v1alpha1
kind: Authority
metadata: {name: mesh}
spec: {lifetime: 1y, rotation: {reloadWithin: 20s}}
---
apiVersion: handover.dev/v1alpha1
kind: Leaf
metadata: {name: a}
spec: {authority: mesh, dnsNames: [a.local]}
---
apiVersion: handover.dev/v1alpha1
kind: Leaf
metadata: {name: b}
spec: {authority: mesh, dnsNames: [b.local]}
`;

/** What a home in a test is made of: what reads and what writes in one, so that a test replaces a part of it. */
export interface Parts
  extends Omit<Home, 'fresh' | 'cached' | 'requests'>,
    Pick<Readers, 'evidence' | 'facts' | 'outputs'> {
  readonly objects: ObjectReader & Home['objects'];
  readonly authorities: AuthorityReader & Home['authorities'];
  readonly requests: Readers['requests'] & Partial<Home['requests']>;
  readonly profiles?: (ProfileReader & ProfileWriter) | undefined;
  /** What its cache shows; undefined: it has none. */
  readonly cached?: Pick<Readers, 'objects' | 'authorities' | 'requests' | 'evidence'>;
}

/** The home that these parts make, with these resources. */
export const on = ({ cached, ...parts }: Parts, resources: Catalogue): Home => ({
  ...parts,
  requests: { ask: async () => {}, drop: async () => [], done: async () => {}, ...parts.requests },
  fresh: () => readSnapshot(parts, () => resources),
  cached:
    cached &&
    (() => {
      const { objects, authorities, requests, evidence } = cached;
      return readSnapshot({ ...parts, objects, authorities, requests, evidence }, () => resources);
    }),
});

/** A home in memory with a clock that tests set. */
export class World {
  now: Instant = instant(Date.UTC(2030, 0, 1));
  readonly rotate: string[] = [];
  readonly distrust: number[] = [];
  readonly objects = new MemoryObjects(() => this.now);
  readonly authorities = new MemoryAuthorities();
  home: Parts = {
    outputs: new OutputPreparer(new VirtualClock()),
    objects: this.objects,
    authorities: this.authorities,
    requests: {
      pending: async () => ({ rotate: this.rotate, distrust: this.distrust }),
      ask: async (request) => {
        if ('rotate' in request) this.rotate.push(request.rotate);
        else this.distrust.push(request.distrust);
      },
      done: async () => {},
    },
    evidence: { consumers: async () => [] },
    clock: { now: () => this.now, steadySince: () => undefined },
    keyring: localKeyring(dealKey),
    issuer: issuerWith(dealKey, randomBytes),
    random: (bytes) => randomBytes(bytes),
    facts: { consumersFound: false, cacheLag: duration(0), trustNamespace: 'default' },
    ledger: undefined,
  };

  pass(ms: number): void {
    this.now = instant(this.now + ms);
  }

  async object(id: string): Promise<StoredObject> {
    const found = await this.objects.read(id);
    if (found === undefined) throw new Error(`no ${id}`);
    return found;
  }
}

const verdicts = new Map<string, boolean>();

type Pem = string | Uint8Array | undefined;

/** Whether a peer that trusts `bundle` accepts `chain`. */
export const accepts = (chain: Pem, bundle: Pem, at: Instant): boolean => {
  const asked = `${Buffer.from(chain ?? '')}|${Buffer.from(bundle ?? '')}|${at}`;
  let verdict = verdicts.get(asked);
  if (verdict === undefined) {
    verdict = verifyChain({
      chain: parseCertificates(chain ?? '').certificates,
      anchors: parseCertificates(bundle ?? '').certificates,
      at,
      purpose: 'server',
    }).ok;
    verdicts.set(asked, verdict);
  }
  return verdict;
};
