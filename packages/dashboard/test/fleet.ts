import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { type KeyPair, parseResources, type Reload } from '@handover/core';
import {
  type AuthorityOutcome,
  type ConsumerFound,
  catalogueOf,
  type Home,
  issuerWith,
  localKeyring,
  MemoryAuthorities,
  MemoryObjects,
  OutputPreparer,
  type Readers,
  readSnapshot,
  reconcile,
} from '@handover/engine';
import { duration, type Instant, instant, VirtualClock } from '@handover/material';
import { Board } from '../src/index.ts';

export const AUTHORITY = 'shop/mesh';

/** A deck of keys dealt round: a thousand leaves need not cost a thousand keys. */
const deck: KeyPair[] = Array.from({ length: 16 }, () =>
  generateKeyPairSync('ec', { namedCurve: 'prime256v1' }),
);

let dealt = 0;
const dealKey = (): KeyPair => deck[dealt++ % deck.length] as KeyPair;

/** An authority in memory with so many services, each of which shows what it has loaded when the test says so. */
export class Fleet {
  now: Instant = instant(Date.UTC(2030, 0, 1, 12));
  readonly names: readonly string[];
  readonly rotate: string[] = [];
  readonly objects = new MemoryObjects(() => this.now);
  readonly authorities = new MemoryAuthorities();
  readonly board: Board;
  /** What each has loaded: its bundle's CAs and its leaf's issuer. */
  readonly #loaded = new Map<
    string,
    { readonly anchors: readonly string[]; readonly issuer: string; readonly at: Instant }
  >();
  readonly #reload: (name: string) => Reload;
  readonly catalogue;

  /** Those for which nothing but their owner's word stands. */
  readonly #promised: ReadonlySet<string>;

  constructor(
    size: number,
    reload: (name: string) => Reload = () => 'hot',
    promised: readonly string[] = [],
  ) {
    this.#promised = new Set(promised);
    const width = String(size).length;
    this.names = Array.from({ length: size }, (_, n) => `service-${String(n + 1).padStart(width, '0')}`);
    this.#reload = reload;
    const metadata = (name: string) => ({ name, namespace: 'shop' });
    const apiVersion = 'handover.dev/v1alpha1';
    const resources = [
      {
        apiVersion,
        kind: 'Authority',
        metadata: metadata('mesh'),
        spec: { lifetime: '1y', rotation: { reloadWithin: '1h' } },
      },
      ...this.names.map((name) => ({
        apiVersion,
        kind: 'Leaf',
        metadata: metadata(name),
        spec: { authority: 'mesh', dnsNames: [name] },
      })),
    ];
    this.catalogue = catalogueOf(
      parseResources(resources.map((value, index) => ({ value, where: `#${index}` }))),
    );
    this.board = new Board({ title: 'a fleet', now: () => this.now });
  }

  readonly #readers: Readers = {
    outputs: new OutputPreparer(new VirtualClock()),
    objects: this.objects,
    authorities: this.authorities,
    requests: { pending: async () => ({ rotate: this.rotate, distrust: [] }) },
    evidence: { consumers: async () => this.names.map((name) => this.#consumer(name)) },
    // As in a cluster: consumers are found, so that no step waits for unknown ones.
    facts: { consumersFound: true, cacheLag: duration(0), trustNamespace: 'default' },
    clock: { now: () => this.now, steadySince: () => undefined },
  };

  readonly home: Home = {
    fresh: () => readSnapshot(this.#readers, () => this.catalogue),
    objects: this.objects,
    authorities: this.authorities,
    requests: { ask: async () => {}, drop: async () => [], done: async () => {} },
    clock: this.#readers.clock,
    keyring: localKeyring(dealKey),
    issuer: issuerWith(dealKey, randomBytes),
    random: (bytes) => randomBytes(bytes),
    ledger: undefined,
  };

  #consumer(name: string): ConsumerFound {
    const object = `shop/secrets/${name}`;
    const loaded = this.#loaded.get(name);
    return {
      id: name,
      reload: this.#reload(name),
      ownersWord: this.#promised.has(name),
      blocks: true,
      presents: [object],
      verifies: [object],
      workload: undefined,
      instances: [
        {
          uid: name,
          createdAt: instant(Date.UTC(2029, 0, 1)),
          ready: true,
          stamp: undefined,
          proofs:
            loaded === undefined || this.#promised.has(name)
              ? []
              : [{ by: 'acknowledged', complete: true, ...loaded }],
        },
      ],
    };
  }

  /** These load what is in their files, and say so. */
  async load(names: readonly string[] = this.names): Promise<void> {
    for (const name of names) {
      const record = (await this.objects.read(`shop/secrets/${name}`))?.record;
      if (record?.leaf === undefined) continue;
      const anchors = record.anchors.map(({ fingerprint }) => fingerprint);
      this.#loaded.set(name, { anchors, issuer: record.leaf.issuer, at: this.now });
    }
  }

  pass(ms: number): void {
    this.now = instant(this.now + ms);
  }

  /** One pass, told to the board as a loop tells it. */
  async once(): Promise<AuthorityOutcome> {
    const outcome = await reconcile(this.home, AUTHORITY);
    const { plan, observation } = outcome;
    this.board.saw({ authority: AUTHORITY, plan, observation, acted: plan.actions.length > 0 });
    this.pass(1_000);
    return outcome;
  }

  /** Passes until there is nothing to do but wait. */
  async settle(): Promise<AuthorityOutcome> {
    for (let passes = 0; ; passes++) {
      const outcome = await this.once();
      if (outcome.plan.actions.length === 0 || passes === 20) return outcome;
    }
  }
}
