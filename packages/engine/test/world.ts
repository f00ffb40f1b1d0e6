import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { type KeyPair, type KeySource, parseResources } from '@handover/core';
import { duration, type Instant, instant, parseCertificates, verifyChain } from '@handover/material';
import { parseAllDocuments } from 'yaml';
import { catalogueOf, type Home, MemoryAuthorities, MemoryObjects, type StoredObject } from '../src/index.ts';

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

/** A home in memory with a clock that tests set. */
export class World {
  now: Instant = instant(Date.UTC(2030, 0, 1));
  readonly rotate: string[] = [];
  readonly distrust: number[] = [];
  readonly objects = new MemoryObjects(() => this.now);
  readonly authorities = new MemoryAuthorities();
  home: Home = {
    objects: this.objects,
    authorities: this.authorities,
    requests: {
      pending: async () => ({ rotate: this.rotate, distrust: this.distrust }),
      done: async () => {},
    },
    evidence: { consumers: async () => [] },
    reloads: undefined,
    clock: { now: () => this.now, steadySince: () => undefined },
    keys: dealKey,
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

/** Whether a peer that trusts `bundle` accepts `chain`. */
export const accepts = (chain: string | undefined, bundle: string | undefined, at: Instant): boolean => {
  const asked = `${chain}|${bundle}|${at}`;
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
