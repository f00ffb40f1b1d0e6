// Annotations and labels of Handover with hostile values, on every kind of object that the admin of a namespace can make.
import { ANNOTATIONS } from '@handover/core';
import fc from 'fast-check';
import { resource } from './stage.ts';
import { EVIL } from './tenant-stage.ts';
import { attackersCa } from './tenant-victim.ts';

/** Namespaces and names that the attacked Authorities have, or that sound like it. */
export const TARGETS = ['prod/mesh', 'prod/turning', 'prod/dropping'] as const;

const NAMES = ANNOTATIONS.filter(({ name }) => name.startsWith('handover.dev/')).map(({ name }) => name);
const planted = await attackersCa('planted');
const of = <T>(...values: readonly T[]) => fc.constantFrom(...values);
const someTime = of(0, 1, -1, 1e12, 4e12, Number.MAX_SAFE_INTEGER, 1.5);

const mac = 'A'.repeat(43);
/** As far as it can be made up: its key is in the state of the Authority. */
const seal = fc
  .record({
    by: of(...TARGETS, 'evil/own'),
    mac: of(mac, ''),
    also: of(undefined, {}, { 'prod/mesh': mac, 'evil/own': mac }),
  })
  .chain((one) => of(undefined, one, one));

/** Names that every object has. */
const outputs = of(undefined, { print: 'x', files: ['constructor', '__proto__'] });

const entry = fc
  .record({
    at: someTime,
    seal,
    authority: of(...TARGETS, 'evil/own'),
    issuedBy: of(...TARGETS, 'evil/own', undefined),
    revision: of(0, 1, 2, 3, 1e9, -1, 0.5, Number.MAX_SAFE_INTEGER),
    changedAt: someTime,
    digest: of('', '0'.repeat(64)),
    anchors: of([], [{ fingerprint: planted.certificate.fingerprint, since: 0 }], ['x'], [null]),
    outputs,
    leaf: of(undefined, {}, { fingerprint: 'x', issuer: 'x', chain: [], notBefore: 0, notAfter: 4e12 }),
  })
  .map(({ at, seal: sealedBy, authority, revision, ...rest }) => ({
    at,
    seal: sealedBy,
    record: { ...rest, revisions: { [authority]: revision } },
  }));
/** As an object of that Authority would have it, of a revision that is to come. */
const forged = fc
  .record({
    authority: of(...TARGETS),
    revision: of(2, 7, 1e9),
    also: of(undefined, { 'evil/own': mac }),
    outputs,
  })
  .map(({ authority, revision, also, outputs }) => ({
    at: 1e12,
    seal: { by: authority, mac, also },
    record: {
      digest: '',
      revisions: { [authority]: revision },
      anchors: [],
      changedAt: 1e12,
      issuedBy: authority,
      outputs,
    },
  }));
/** A record as the operator would write it. */
const record = fc
  .record({
    format: of(1, 1, 1, 2),
    keptIn: of('handover-system', EVIL, ''),
    parts: fc.oneof(
      forged.map((one) => ({ '': one, 'ca.crt': one })),
      fc.dictionary(of('', 'ca.crt', 'tls.crt'), entry, { maxKeys: 2 }),
    ),
  })
  .map((value) => JSON.stringify(value));

const word = of(
  ...['true', 'false', '', 'hot', 'restart', 'nobody', '1', '1,2,3', '999999', '-1', '8443/mtls', '0'],
  ...[
    ...TARGETS,
    'evil/own',
    'handover-system',
    'now',
    '3.0',
    '{}',
    '[]',
    'null',
    planted.certificate.fingerprint,
  ],
);
const value = fc.oneof(record, word, fc.string({ maxLength: 40 }));
const label = of('true', 'false', '', 'handover', 'evil', '1', 'prod', 'A_b.c-d');

/** Mostly with the marks that say most. */
const marks = fc.record({
  annotations: fc
    .tuple(fc.dictionary(of(...NAMES), value, { maxKeys: 5 }), fc.option(record, { freq: 4 }))
    .map(([given, text]) => (text === null ? given : { ...given, 'handover.dev/record': text })),
  labels: fc
    .tuple(
      fc.dictionary(of(...NAMES, 'app.kubernetes.io/managed-by'), label, { maxKeys: 3 }),
      of(true, true, false),
    )
    .map(([given, managed]) => (managed ? { ...given, 'handover.dev/managed': 'true' } : given)),
});

const data = of(
  { a: 'b' },
  { 'ca.crt': planted.pem },
  { 'ca.crt': planted.pem, 'tls.crt': planted.pem, 'tls.key': 'x' },
  { 'authority.json': '{}' },
);
const name = of('a', 'b', 'web', 'mesh', 'mesh-trust', 'turning-trust', 'handover-platform');
const core = (kind: string, given: string, rest: object): object => ({
  apiVersion: 'v1',
  kind,
  metadata: { name: given, namespace: EVIL },
  ...rest,
});
const container = {
  name: 'main',
  image: 'none',
  volumeMounts: [{ name: 'tls', mountPath: '/tls' }],
};

const anySecret = fc
  .record({ name, stringData: data, immutable: fc.boolean() })
  .map(({ name: given, ...rest }) => core('Secret', given, rest));
const bare: fc.Arbitrary<object> = fc.oneof(
  { weight: 4, arbitrary: anySecret },
  fc
    .record({ name, data, immutable: fc.boolean() })
    .map(({ name: given, ...rest }) => core('ConfigMap', given, rest)),
  fc.record({ name, secretName: name }).map(({ name: given, secretName }) =>
    core('Pod', given, {
      spec: {
        automountServiceAccountToken: false,
        containers: [container],
        volumes: [{ name: 'tls', secret: { secretName, optional: true } }],
      },
    }),
  ),
  name.map((given) => core('Service', given, { spec: { ports: [{ port: 443 }] } })),
  // Names that no rule allows: a Leaf that may be issued is work for its Authority, as it should be.
  fc
    .record({ name, authority: of(...TARGETS, 'own') })
    .map(({ name: given, authority }) =>
      resource('Leaf', given, { authority, secretName: given, dnsNames: ['web.prod.svc'] }, EVIL),
    ),
  fc
    .record({ name: of('own', 'mesh'), bundle: of({}, { configMapName: 'mesh-trust' }) })
    .map(({ name: given, bundle }) => resource('Authority', given, { bundle }, EVIL)),
);

export const hostile: fc.Arbitrary<readonly object[]> = fc.uniqueArray(
  fc.tuple(bare, marks).map(([object, { annotations, labels }]) => {
    const { metadata, ...rest } = object as { readonly metadata: object };
    return { ...rest, metadata: { ...metadata, annotations, labels } };
  }),
  {
    minLength: 1,
    maxLength: 4,
    selector: (object) => {
      const { kind, metadata } = object as unknown as { kind: string; metadata: { name: string } };
      return `${kind} ${metadata.name}`;
    },
  },
);
