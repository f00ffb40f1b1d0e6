import type { Certificate, Purpose } from '../../src/index.ts';
import { oid, printable, seq, set, tlv, utf8 as utf8String } from '../der-writer.ts';
import {
  DAY,
  general,
  type Issued,
  issue,
  type KeyPair,
  nameOf,
  p256,
  p384,
  printableName,
  rsa,
  type Spec,
} from '../mock-ca.ts';

/** mulberry32: small, seeded, good enough to pick cases. */
export const random = (seed: number): (() => number) => {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), state | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
};

export class Dice {
  readonly #next: () => number;
  constructor(seed: number) {
    this.#next = random(seed);
  }
  below(n: number): number {
    return Math.floor(this.#next() * n);
  }
  chance(p: number): boolean {
    return this.#next() < p;
  }
  pick<T>(items: readonly T[]): T {
    return items[this.below(items.length)] as T; // items may hold undefined, as a choice
  }
  shuffle<T>(items: readonly T[]): T[] {
    const left = [...items];
    const out: T[] = [];
    while (left.length > 0) out.push(...left.splice(this.below(left.length), 1));
    return out;
  }
}

export interface Case {
  readonly chain: readonly Certificate[];
  readonly anchors: readonly Certificate[];
  readonly at: number;
  readonly purpose: Purpose;
  readonly leafKey: KeyPair;
}

export interface Keys {
  readonly cas: readonly KeyPair[];
  readonly leaves: readonly KeyPair[];
}

/** Few keys and few names, so that certificates collide as those of a careless rotation do. */
export const makeKeys = (): Keys => ({
  cas: [p256(), p256(), p256(), p256(), p256(), p384(), rsa()],
  leaves: [p256(), p256(), p384(), rsa(1024)],
});

const weird = (dice: Dice, now: number, flawed: number): Partial<Spec> => {
  const flaw = (p: number): boolean => dice.chance(p * flawed);
  return {
    ...(flaw(0.08) ? { ski: 'none' as const } : flaw(0.02) ? { ski: Buffer.from('wrong id') } : {}),
    ...(flaw(0.12)
      ? {
          aki: dice.pick([
            'none',
            'none',
            'with-serial',
            'with-serial',
            'wrong-serial',
            Buffer.from('wrong id'),
          ] as const),
        }
      : {}),
    ...(flaw(0.05)
      ? { notAfter: now - dice.pick([0, 1000, DAY]) }
      : flaw(0.1)
        ? { notAfter: now + dice.pick([1, 2, 30]) * DAY }
        : {}),
    ...(flaw(0.03)
      ? { notBefore: now + dice.pick([1000, DAY]) }
      : flaw(0.1)
        ? { notBefore: now - dice.pick([0, 1, 400]) * DAY }
        : {}),
    ...(flaw(0.02) ? { forged: true } : {}),
    ...(flaw(0.02) ? { digest: 'sha1' as const } : flaw(0.05) ? { digest: 'sha384' as const } : {}),
    ...(flaw(0.04)
      ? {
          eku: dice.pick([
            ['serverAuth'],
            ['clientAuth'],
            ['any'],
            ['serverAuth', 'clientAuth'],
            ['1.3.6.1.4.1.311.10.3.3'],
            ['codeSigning'],
          ]),
        }
      : {}),
    ...(flaw(0.02) ? { netscape: dice.pick([0x80, 0x40, 0xc0, 0x04, 0x07, 0x20]) } : {}),
    ...(flaw(0.03)
      ? {
          extra: [
            {
              oid: dice.pick(['1.2.3.4', '2.5.29.9', '2.5.29.54']),
              critical: dice.chance(0.5),
              value: Buffer.from([2, 1, 0]),
            },
          ],
        }
      : {}),
    ...(flaw(0.02) ? { serial: dice.pick([-5, 0, 1, 1, 2n ** 159n]) } : {}),
  };
};

const constraint = (dice: Dice): NonNullable<Spec['constraints']> => {
  const base = (): Buffer =>
    dice.pick([
      general.dns('mesh.test'),
      general.dns('.mesh.test'),
      general.dns('test'),
      general.dns(''),
      general.dns('other.test'),
      general.ip(10, 0, 0, 0, 255, 0, 0, 0),
      general.ip(0, 0, 0, 0, 0, 0, 0, 0),
      general.email('mesh.test'),
      general.email('.mesh.test'),
      general.email('a@mesh.test'),
      general.uri('mesh.test'),
      general.uri('.mesh.test'),
      general.directory(nameOf('leaf a')),
      general.directory(nameOf('LEAF  A')),
      general.directory(seq()),
    ]);
  return {
    ...(dice.chance(0.6) ? { permitted: Array.from({ length: 1 + dice.below(3) }, base) } : {}),
    ...(dice.chance(0.5) ? { excluded: [base()] } : {}),
  };
};

const caName = (dice: Dice, n: number): string | Buffer => {
  if (dice.chance(0.75)) return `mesh ${n}`;
  return dice.pick([
    nameOf('mesh 1'),
    nameOf('MESH  1'),
    printableName('Mesh 1'),
    nameOf('mesh 2'),
    nameOf('mesh ü'),
    nameOf('mesh Ü'),
  ]);
};

/** What a world is about; within each everything else still happens. */
interface Theme {
  readonly parent: number;
  readonly nearest: boolean;
  readonly twin: number;
  readonly pathLength: number;
  readonly constraints: number;
  readonly sizes: readonly number[];
  readonly flaws: readonly number[];
}

const THEMES: readonly Theme[] = [
  // a careless rotation: cross-certificates, renewals, look-alikes
  {
    parent: 0.6,
    nearest: false,
    twin: 0.35,
    pathLength: 0.15,
    constraints: 0.06,
    sizes: [1, 2, 3, 4, 5],
    flaws: [0, 0.5, 1, 1, 2],
  },
  // long paths with path lengths, some of it self-issued
  {
    parent: 0.95,
    nearest: true,
    twin: 0.25,
    pathLength: 0.9,
    constraints: 0.02,
    sizes: [3, 4, 5, 6],
    flaws: [0.4, 0.6],
  },
  // names that an issuer may not certify
  {
    parent: 0.7,
    nearest: true,
    twin: 0.2,
    pathLength: 0.1,
    constraints: 1,
    sizes: [1, 2, 3],
    flaws: [0.4, 0.7],
  },
];

function makeCa(
  dice: Dice,
  keys: Keys,
  now: number,
  n: number,
  before: readonly Issued[],
  theme: Theme,
  flawed: number,
): Issued {
  const flaw = (p: number): boolean => dice.chance(p * flawed);
  const nearest = theme.nearest ? before.at(-1) : undefined;
  const parent = before.length > 0 && dice.chance(theme.parent) ? (nearest ?? dice.pick(before)) : undefined;
  const twin = before.length > 0 && dice.chance(theme.twin) ? dice.pick(before) : undefined;
  const subject = twin === undefined ? caName(dice, n) : Buffer.from(twin.name);
  // with a twin: the same name, and mostly the same key (a cross-certificate or a renewal), else another (a mimic)
  const key = twin !== undefined && dice.chance(0.7) ? twin.key : dice.pick(keys.cas);
  return issue({
    subject,
    key,
    issuer: parent,
    notBefore: now - 10 * DAY,
    notAfter: now + 100 * DAY,
    ca: flaw(0.04) ? false : flaw(0.04) ? undefined : true,
    pathLength: flaw(theme.pathLength) ? dice.below(4) : undefined,
    usages: flaw(0.05)
      ? undefined
      : flaw(0.05)
        ? ['cRLSign']
        : flaw(0.03)
          ? ['keyCertSign']
          : ['keyCertSign', 'cRLSign'],
    version: flaw(0.03) ? 1 : 3,
    constraints: flaw(theme.constraints) ? constraint(dice) : undefined,
    ...weird(dice, now, flawed),
  });
}

function makeLeaf(dice: Dice, keys: Keys, now: number, issuer: Issued, flawed: number): Issued {
  const flaw = (p: number): boolean => dice.chance(p * flawed);
  const subject = dice.pick([
    nameOf(dice.pick(['leaf a', 'leaf b', 'a.mesh.test', 'other.test'])),
    seq(set(seq(oid('2.5.4.3'), utf8String('leaf a'))), set(seq(oid('2.5.4.10'), printable('Org')))),
    ...(flaw(0.3)
      ? [
          seq(),
          Buffer.from(issuer.name),
          seq(set(seq(oid('1.2.840.113549.1.9.1'), tlv(0x16, Buffer.from('a@mesh.test'))))),
        ]
      : []),
  ]);
  return issue({
    subject,
    key: dice.pick(keys.leaves),
    issuer: flaw(0.03) ? undefined : issuer,
    notBefore: now - 10 * DAY,
    notAfter: now + 100 * DAY,
    ca: flaw(0.1) ? dice.pick([true, undefined]) : false,
    usages: flaw(0.1)
      ? dice.pick([undefined, ['keyEncipherment'], ['keyAgreement'], ['nonRepudiation'], ['keyCertSign']])
      : ['digitalSignature'],
    eku: flaw(0.1)
      ? dice.pick([undefined, ['serverAuth'], ['clientAuth'], ['any'], ['codeSigning']])
      : ['serverAuth', 'clientAuth'],
    dns: dice.pick([
      ['a.mesh.test'],
      ['mesh.test', 'b.mesh.test'],
      ['x.other.test'],
      ['amesh.test'],
      ['A.MESH.test', 'test'],
      [],
    ]),
    ip: dice.chance(0.2)
      ? [
          dice.pick([
            [10, 1, 2, 3],
            [127, 0, 0, 1],
          ]),
        ]
      : undefined,
    email: dice.chance(0.1)
      ? [dice.pick(['a@mesh.test', 'b@x.mesh.test', 'A@MESH.test', 'nobody'])]
      : undefined,
    uri: dice.chance(0.1)
      ? [dice.pick(['https://mesh.test/x', 'spiffe://a.mesh.test:1', 'urn:x', 'x://'])]
      : undefined,
    ...weird(dice, now, flawed),
  });
}

/** One careless PKI, and what some peers of it show and trust. */
export function* casesOf(dice: Dice, keys: Keys, now: number, count: number): Generator<Case> {
  const theme = dice.pick(THEMES);
  const flawed = dice.pick(theme.flaws);
  const cas: Issued[] = [];
  const size = dice.pick(theme.sizes);
  for (let n = 1; n <= size; n++) cas.push(makeCa(dice, keys, now, n, cas, theme, flawed));
  for (let i = 0; i < count; i++) {
    const last = theme.nearest && dice.chance(0.8) ? cas.at(-1) : undefined;
    const leaf = makeLeaf(dice, keys, now, last ?? dice.pick(cas), flawed);
    const some = (p: number): Certificate[] =>
      dice.shuffle(cas.filter(() => dice.chance(p))).map(({ certificate }) => certificate);
    const anchors = some(dice.pick([0.3, 0.6, 1]));
    if (dice.chance(0.03)) anchors.push(leaf.certificate);
    const [first] = cas;
    if (anchors.length === 0 && first !== undefined) anchors.push(first.certificate);
    yield {
      chain: [leaf.certificate, ...some(dice.pick([0, 0.5, 0.8, 1]))],
      anchors,
      at: now + dice.pick([0, 0, 0, 0, 0, -1000, 1000, 2 * DAY, -2 * DAY, 99 * DAY]),
      purpose: dice.pick(['server', 'client'] as const),
      leafKey: leaf.key,
    };
  }
}

export const SEED = Number(process.env.SEED ?? 20_260_101);

/** Everything needed to look at a disagreement by hand. */
export const describeCase = ({ chain, anchors, at, purpose }: Case): string =>
  [
    `purpose ${purpose} at ${new Date(at).toISOString()}`,
    ...chain.map(
      (c, i) =>
        `# chain ${i} ${c.subject} <- ${c.issuer} ski ${c.subjectKeyId} aki ${c.authorityKeyId}\n${c.pem}`,
    ),
    ...anchors.map(
      (c, i) =>
        `# anchor ${i} ${c.subject} <- ${c.issuer} ski ${c.subjectKeyId} aki ${c.authorityKeyId}\n${c.pem}`,
    ),
  ].join('\n');
