import { API_VERSION } from '@handover/core';
import type { Json } from './requests.ts';

export const authority = (spec: unknown = {}, name = 'mesh'): Json => ({
  apiVersion: API_VERSION,
  kind: 'Authority',
  metadata: { name },
  spec,
});
export const leaf = (spec: Json = {}, name = 'envoy'): Json => ({
  apiVersion: API_VERSION,
  kind: 'Leaf',
  metadata: { name },
  spec: { authority: 'mesh', dnsNames: ['envoy'], ...spec },
});
export const bundle = (spec: Json = {}, name = 'all'): Json => ({
  apiVersion: API_VERSION,
  kind: 'TrustBundle',
  metadata: { name },
  spec: { sources: [{ authority: 'a/mesh' }], targets: [{ configMap: { name: 'trust' } }], ...spec },
});
export const profile = (spec: unknown = {}, name = 'tls'): Json => ({
  apiVersion: API_VERSION,
  kind: 'TLSProfile',
  metadata: { name },
  spec,
});

export const PEM = '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n';
const many = (count: number) => Array.from({ length: count }, (_, index) => `n${index}`);

/** Valid in both homes; together they use every field. */
export const GOOD: readonly (readonly [string, Json])[] = [
  [
    'an Authority with nothing but a name',
    { apiVersion: API_VERSION, kind: 'Authority', metadata: { name: 'a' } },
  ],
  [
    'an Authority with everything',
    authority({
      key: 'ECDSA-P256',
      lifetime: '5y',
      issueTo: {
        namespaceSelector: {
          matchLabels: { team: 'a' },
          matchExpressions: [{ key: 'example.com/tier', operator: 'In', values: ['x', 'y'] }],
        },
        dnsNames: ['*.mesh.svc', 'web-*.{namespace}.svc', 'a_b.example', '*'],
        uris: ['spiffe://mesh/ns/{namespace}/sa/*', 'spiffe://*.mesh/x', 'urn:x'],
        ipAddresses: ['10.0.0.0/8', '10.0.0.1', '2001:db8::/32', '::1'],
        subjects: { commonNames: ['*.{namespace}.svc', 'Zürich'], organizations: ['team-{namespace}'] },
        usages: ['server', 'client'],
        keys: ['ECDSA-P256', 'RSA-4096'],
        minLifetime: '10m',
        maxLifetime: '90d',
      },
      nameConstraints: { dnsNames: ['mesh.svc', 'svc'], ipAddresses: ['10.0.0.0/8', '2001:db8::/32'] },
      rotation: {
        at: '80%',
        strategy: 'Phased',
        reloadWithin: '3m',
        onBlocked: 'Wait',
        patience: '24h',
        paused: false,
        maxConcurrentRollouts: 3,
      },
      bundle: { configMapName: 'mesh-trust' },
      consumers: [
        {
          name: 'db',
          presents: true,
          verifies: true,
          leaf: 'db',
          bundle: 'all',
          probe: { address: '127.0.0.1:5432', mtls: true },
          status: { socket: '/run/db.sock' },
          reload: 'hot',
        },
        { name: 'lb', verifies: true, status: { url: 'http://127.0.0.1:9000/status' } },
        { name: 'file', presents: true, status: { file: '/run/x' }, probe: { address: '[::1]:443' } },
      ],
    }),
  ],
  ['a schedule by time', authority({ lifetime: '18mo', rotation: { before: '30d', strategy: 'Instant' } })],
  [
    'lists that allow nothing',
    authority({
      issueTo: {
        dnsNames: [],
        uris: [],
        ipAddresses: [],
        subjects: { commonNames: [], organizations: [] },
        usages: [],
        keys: [],
      },
    }),
  ],
  ['selectors that select everything', authority({ issueTo: { namespaceSelector: {} } })],
  ['a Leaf', leaf()],
  [
    'a Leaf with everything',
    leaf({
      authority: 'envoy-system/mesh',
      secretName: 'envoy',
      key: 'RSA-4096',
      subject: { commonName: 'Zürich', organizations: ['Example', '日本'] },
      dnsNames: ['*.example.com', 'a_b.example', 'localhost'],
      ipAddresses: ['127.0.0.1', '::1', '2001:db8::1', '::ffff:10.0.0.1', '255.255.255.255'],
      uris: ['spiffe://mesh/ns/default'],
      usages: ['server'],
      lifetime: '1h30m',
      renew: { at: '66%' },
      reload: { command: ['nginx', '-s', 'reload'] },
      files: { owner: 'postgres', group: '999', mode: '0600' },
      reuseKey: true,
      outputs: [
        {
          name: 'web.p12',
          format: 'pkcs12',
          content: 'identity',
          alias: 'web',
          passwordFrom: { secret: { name: 'store', key: 'password' } },
          file: { path: '/etc/web.p12', owner: 'web', group: 'web', mode: '0640' },
        },
        { name: 'trust.jks', format: 'jks', content: 'trust' },
        { name: 'web.jks', format: 'jks', passwordFrom: { file: '/etc/password' } },
        { name: 'web.pem', format: 'combined', keyFormat: 'pkcs1' },
        { name: 'key.der', format: 'der', content: 'key' },
      ],
    }),
  ],
  [
    'a Leaf of an organization alone, told by signal',
    leaf({
      dnsNames: [],
      subject: { organizations: ['Example'] },
      usages: ['client'],
      reload: { signal: { pidFile: '/run/a.pid', signal: 'SIGHUP' } },
    }),
  ],
  ['a Leaf told over HTTP', leaf({ reload: { http: { url: 'http://127.0.0.1:1/reload?x=[1]' } } })],
  [
    'a TrustBundle with every source and target',
    bundle({
      sources: [
        { authority: 'envoy-system/mesh' },
        { secret: { name: 'company-root', key: 'ca.crt' } },
        { configMap: { name: 'others' } },
        { configMap: { selector: { matchLabels: { role: 'ca' } }, key: 'tls.crt' } },
        { secret: { selector: { matchExpressions: [{ key: 'role', operator: 'Exists' }] } } },
        { inline: PEM },
      ],
      targets: [
        {
          configMap: {
            name: 'mesh-trust',
            key: 'ca.crt',
            namespaceSelector: {},
            outputs: [
              {
                name: 'trust.p12',
                format: 'pkcs12',
                alias: 'ca',
                passwordFrom: { secret: { name: 'store' } },
              },
              { name: 'trust.jks', format: 'jks' },
              { name: 'ca.pem', format: 'pem', file: { path: '/etc/ca.pem' } },
            ],
          },
        },
        { secret: { name: 'mesh-trust', namespaceSelector: { matchLabels: { a: '' } } } },
        { clusterTrustBundle: { name: 'example.com:mesh:all', signerName: 'example.com/mesh' } },
        { clusterTrustBundle: { name: 'all' } },
        { inject: { kind: 'APIService', name: 'v1alpha1.data.packaging.carvel.dev' } },
        { inject: { kind: 'ValidatingWebhookConfiguration', name: 'hook', webhooks: ['a.example.com'] } },
        { inject: { kind: 'MutatingWebhookConfiguration', name: 'hook' } },
        { inject: { kind: 'CustomResourceDefinition', name: 'things.example.com' } },
      ],
    }),
  ],
  [
    'a TLSProfile with nothing but a name',
    { apiVersion: API_VERSION, kind: 'TLSProfile', metadata: { name: 'a' } },
  ],
  [
    'a TLSProfile of OpenShift',
    profile({ type: 'OpenShift', configMapName: 'tls-profile', workloadSelector: {} }),
  ],
  [
    'a TLSProfile of its own',
    profile({
      type: 'Custom',
      custom: { ciphers: ['ECDHE-RSA-AES128-GCM-SHA256'], minTLSVersion: 'VersionTLS12', groups: ['X25519'] },
    }),
  ],
];

const consumer = (more: Json): Json => authority({ consumers: [{ name: 'db', presents: true, ...more }] });
const KEY_OUTPUT = { name: 'key.pem', format: 'pem', content: 'key' };
const OUTPUT = { name: 'a', format: 'combined' };
const target = (given: Json): Json => bundle({ targets: [given] });

/** Refused by the API server, with a message that contains this text. The parser refuses all of them too. */
export const REFUSED: readonly (readonly [string, Json, RegExp])[] = [
  [
    'the old name of reloadWithin',
    authority({ rotation: { settle: '3m' } }),
    /settle:? is now called reloadWithin/,
  ],
  ['an unknown field', authority({ rotaton: {} }), /unknown field "spec.rotaton"/],
  [
    'an unknown field deep inside',
    authority({ bundle: { colour: 1 } }),
    /unknown field "spec.bundle.colour"/,
  ],
  [
    'a duration with a space',
    authority({ rotation: { reloadWithin: '3 min' } }),
    /spec.rotation.reloadWithin: .*is not a duration; write it like/,
  ],
  [
    'a duration as a number',
    authority({ rotation: { reloadWithin: 180 } }),
    /spec.rotation.reloadWithin: .*must be of type string/,
  ],
  ['an empty duration', authority({ lifetime: '' }), /spec.lifetime: .*at least 2 chars/],
  ['a percentage of 100', authority({ rotation: { at: '100%' } }), /spec.rotation.at: /],
  [
    'a word in another case',
    authority({ rotation: { strategy: 'phased' } }),
    /spec.rotation.strategy: Unsupported value: "phased": supported values: "Phased", "Instant"/,
  ],
  ['Ed25519', authority({ key: 'Ed25519' }), /spec.key: Unsupported value: "Ed25519"/],
  [
    'both at and before',
    authority({ rotation: { at: '80%', before: '30d' } }),
    /spec.rotation: .*has both at and before; give one of them/,
  ],
  [
    'no rollouts',
    authority({ rotation: { maxConcurrentRollouts: 0 } }),
    /spec.rotation.maxConcurrentRollouts: .*greater than or equal to 1/,
  ],
  [
    'half a rollout',
    authority({ rotation: { maxConcurrentRollouts: 1.5 } }),
    /spec.rotation.maxConcurrentRollouts: .*integer/,
  ],
  ['a string for a boolean', authority({ rotation: { paused: 'no' } }), /spec.rotation.paused: .*boolean/],
  ['a list for a map', authority([]), /spec: /],
  [
    'an idle consumer',
    authority({ consumers: [{ name: 'db' }] }),
    /spec.consumers\[0\]: .*set presents: true, verifies: true or both/,
  ],
  [
    'an idle consumer that says so',
    authority({ consumers: [{ name: 'db', presents: false, verifies: false }] }),
    /spec.consumers\[0\]: .*set presents: true/,
  ],
  [
    'a probe of nothing',
    consumer({ probe: { mtls: true } }),
    /probe: .*give exactly one of address, command/,
  ],
  [
    'a probe that connects and runs a command',
    consumer({ probe: { address: 'db:5432', command: ['ask'] } }),
    /probe: .*give exactly one of address, command/,
  ],
  ...[{ mtls: true }, { starttls: 'ftp' }, { serverName: 'db.example' }].map(
    (connecting) =>
      [
        `a probe command with ${Object.keys(connecting)[0]}`,
        consumer({ probe: { command: ['ask'], ...connecting } }),
        /probe\..*: .*needs address beside it: a command connects by itself/,
      ] as const,
  ),
  ['a probe of no server name', consumer({ probe: { address: 'db:5432', serverName: '-db' } }), /serverName/],
  [
    'a consumer without a name',
    authority({ consumers: [{ presents: true }] }),
    /spec.consumers\[0\].name: Required/,
  ],
  [
    'a consumer twice',
    authority({
      consumers: [
        { name: 'db', presents: true },
        { name: 'db', verifies: true },
      ],
    }),
    /spec.consumers\[1\]: Duplicate value/,
  ],
  [
    'a leaf without a presenter',
    authority({ consumers: [{ name: 'db', verifies: true, leaf: 'db' }] }),
    /spec.consumers\[0\].leaf: .*needs presents: true/,
  ],
  [
    'a bundle without a verifier',
    consumer({ bundle: 'all' }),
    /spec.consumers\[0\].bundle: .*needs verifies: true/,
  ],
  [
    'two status sources',
    consumer({ status: { file: 'a', url: 'http://b/' } }),
    /spec.consumers\[0\].status: .*give exactly one of file, socket, url/,
  ],
  ['no status source', consumer({ status: {} }), /spec.consumers\[0\].status: .*give exactly one/],
  [
    'a probe without a port',
    consumer({ probe: { address: 'db' } }),
    /spec.consumers\[0\].probe.address: .*host:port/,
  ],
  [
    'a probe of port 65536',
    consumer({ probe: { address: 'db:65536' } }),
    /spec.consumers\[0\].probe.address: /,
  ],
  [
    'too many consumers',
    authority({ consumers: many(101).map((name) => ({ name, presents: true })) }),
    /spec.consumers: Too many: 101: must have at most 100/,
  ],
  [
    'too many labels',
    authority({
      issueTo: {
        namespaceSelector: { matchLabels: Object.fromEntries(many(65).map((name) => [name, 'x'])) },
      },
    }),
    /spec.issueTo.namespaceSelector.matchLabels: .*at most 64/,
  ],
  [
    'a selector with an unknown operator',
    authority({ issueTo: { namespaceSelector: { matchExpressions: [{ key: 'a', operator: 'Is' }] } } }),
    /matchExpressions\[0\].operator: Unsupported value/,
  ],
  [
    'a pattern of DNS names with two stars',
    authority({ issueTo: { dnsNames: ['a.b', '*.*.svc'] } }),
    /spec.issueTo.dnsNames\[1\]: .*at most one \*/,
  ],
  [
    'a pattern with many stars',
    authority({ issueTo: { dnsNames: [`${'*a'.repeat(60)}*b`] } }),
    /spec.issueTo.dnsNames\[0\]: .*at most one \*/,
  ],
  [
    'a pattern with an unknown placeholder',
    authority({ issueTo: { dnsNames: ['*.{name}.svc'] } }),
    /spec.issueTo.dnsNames\[0\]: .*\{namespace\}/,
  ],
  [
    'a pattern of URIs with two stars',
    authority({ issueTo: { uris: ['spiffe://mesh/*/*'] } }),
    /spec.issueTo.uris\[0\]: .*at most one \*/,
  ],
  [
    'a pattern of common names with two stars',
    authority({ issueTo: { subjects: { commonNames: ['*:*'] } } }),
    /spec.issueTo.subjects.commonNames\[0\]: .*at most one \*/,
  ],
  [
    'a pattern of organizations with a brace',
    authority({ issueTo: { subjects: { organizations: ['{'] } } }),
    /spec.issueTo.subjects.organizations\[0\]: /,
  ],
  [
    'a range with a star',
    authority({ issueTo: { ipAddresses: ['10.0.0.*'] } }),
    /spec.issueTo.ipAddresses\[0\]: .*10.0.0.0\/8/,
  ],
  [
    'an unknown usage',
    authority({ issueTo: { usages: ['email'] } }),
    /spec.issueTo.usages\[0\]: Unsupported value: "email"/,
  ],
  ['an unknown key', authority({ issueTo: { keys: ['Ed25519'] } }), /spec.issueTo.keys\[0\]: Unsupported/],
  ['consent to nothing', authority({ adopt: {} }), /spec.adopt: .*give exactly one of fingerprints, secret/],
  [
    'consent to certificates and to a Secret',
    authority({ adopt: { fingerprints: ['ab'.repeat(32)], secret: 'ca' } }),
    /spec.adopt: .*give exactly one of fingerprints, secret/,
  ],
  [
    'a fingerprint that is none',
    authority({ adopt: { fingerprints: ['ab'] } }),
    /spec.adopt.fingerprints\[0\]: .*is not a SHA-256 fingerprint/,
  ],
  ['name constraints of nothing', authority({ nameConstraints: {} }), /spec.nameConstraints: .*has no list/],
  [
    'an empty list of name constraints',
    authority({ nameConstraints: { dnsNames: [] } }),
    /spec.nameConstraints.dnsNames: .*at least 1/,
  ],
  [
    'a constraint with a dot in front',
    authority({ nameConstraints: { dnsNames: ['.mesh.svc'] } }),
    /spec.nameConstraints.dnsNames\[0\]: .*without a dot in front/,
  ],
  [
    'a name too long for its default ConfigMap',
    authority({}, 'a'.repeat(250)),
    /spec.bundle.configMapName: .*would be too long/,
  ],
  ['a name in capitals', authority({}, 'Mesh'), /metadata.name: /],
  ['a Leaf without an authority', { ...leaf(), spec: { dnsNames: ['a'] } }, /spec.authority: Required/],
  ['a Leaf without a spec', { ...leaf(), spec: undefined }, /spec: Required/],
  ['a Leaf without a name', leaf({ dnsNames: [], usages: ['client'] }), /spec: .*has no name; give dnsNames/],
  [
    'a Leaf for a server with a common name alone',
    leaf({ dnsNames: [], subject: { commonName: 'payments.prod.svc' } }),
    /spec: .*usages has server, and clients match a server by dnsNames or ipAddresses/,
  ],
  [
    'a Leaf for a server with a URI alone',
    leaf({ dnsNames: [], uris: ['spiffe://mesh/x'], usages: ['client', 'server'] }),
    /spec: .*usages has server/,
  ],
  ['an inner wildcard', leaf({ dnsNames: ['a', 'b.*.c'] }), /spec.dnsNames\[1\]: /],
  ['a name with a trailing dot', leaf({ dnsNames: ['a.b.'] }), /spec.dnsNames\[0\]: /],
  ['too many names', leaf({ dnsNames: many(101) }), /spec.dnsNames: Too many: 101/],
  ['an incomplete IP address', leaf({ ipAddresses: ['1.2.3'] }), /spec.ipAddresses\[0\]: /],
  ['an octal IP address', leaf({ ipAddresses: ['010.0.0.1'] }), /spec.ipAddresses\[0\]: /],
  ['a relative URI', leaf({ uris: ['mesh/ns'] }), /spec.uris\[0\]: /],
  [
    'two ways to reload for a TrustBundle',
    bundle({ reload: { command: ['a'], http: { url: 'http://a/' } } }),
    /spec.reload: .*give exactly one/,
  ],
  [
    'two ways to reload for the bundle of an Authority',
    authority({ bundle: { reload: { command: ['a'], http: { url: 'http://a/' } } } }),
    /spec.bundle.reload: .*give exactly one/,
  ],
  ['no way to reload', leaf({ reload: {} }), /spec.reload: .*give exactly one of command, signal, http/],
  [
    'two ways to reload',
    leaf({ reload: { command: ['a'], http: { url: 'http://a/' } } }),
    /spec.reload: .*give exactly one/,
  ],
  [
    'a short signal name',
    leaf({ reload: { signal: { pidFile: '/run/a.pid', signal: 'HUP' } } }),
    /spec.reload.signal.signal: Unsupported value: "HUP"/,
  ],
  ['a key that all users can read', leaf({ files: { mode: '0644' } }), /spec.files.mode: /],
  ['no usages', leaf({ usages: [] }), /spec.usages: .*at least 1/],
  ['a subject with a line break', leaf({ subject: { commonName: 'a\nb' } }), /spec.subject.commonName: /],
  ['an output twice', leaf({ outputs: [OUTPUT, OUTPUT] }), /spec.outputs\[1\]: Duplicate value/],
  [
    'an output in the place of the certificate',
    leaf({ outputs: [{ ...OUTPUT, name: 'tls.crt' }] }),
    /spec.outputs\[0\].name: .*is the name of a file that Handover writes in any case/,
  ],
  [
    'an output of an unknown format',
    leaf({ outputs: [{ name: 'a', format: 'p12' }] }),
    /spec.outputs\[0\].format: Unsupported value: "p12"/,
  ],
  [
    'an output with what its format cannot hold',
    leaf({ outputs: [{ ...OUTPUT, content: 'trust' }] }),
    /spec.outputs\[0\].content: .*does not go with format/,
  ],
  [
    'a keystore without a password',
    leaf({ outputs: [{ name: 'a', format: 'jks' }] }),
    /spec.outputs\[0\]: .*passwordFrom is missing; a keystore with a private key needs a password/,
  ],
  [
    'a key that every user may read',
    leaf({ outputs: [{ ...KEY_OUTPUT, file: { path: '/etc/key.pem', mode: '0604' } }] }),
    /spec.outputs\[0\].file.mode: .*gives other users access to a private key/,
  ],
  [
    'a key for a group that is not named',
    leaf({ outputs: [{ ...KEY_OUTPUT, file: { path: '/etc/key.pem', mode: '0640' } }] }),
    /spec.outputs\[0\].file.mode: .*gives a group access to a private key; name it in file.group/,
  ],
  [
    'a password for PEM',
    leaf({ outputs: [{ ...OUTPUT, passwordFrom: { file: 'a' } }] }),
    /spec.outputs\[0\].passwordFrom: .*only applies to pkcs12 and jks/,
  ],
  [
    'a password from two places',
    leaf({ outputs: [{ name: 'a', format: 'jks', passwordFrom: { file: 'a', secret: { name: 'b' } } }] }),
    /spec.outputs\[0\].passwordFrom: .*give exactly one of file, secret/,
  ],
  ...(['configMap', 'secret'] as const).flatMap((kind): (readonly [string, Json, RegExp])[] => [
    [
      `a truststore in the place of the PEM of a ${kind}`,
      target({ [kind]: { name: 'a', outputs: [{ name: 'ca.crt', format: 'jks' }] } }),
      new RegExp(`spec.targets\\[0\\].${kind}.outputs: .*has the key of the PEM as its name`),
    ],
    [
      `a password for PEM in a ${kind}`,
      target({ [kind]: { name: 'a', outputs: [{ name: 'a', format: 'pem', passwordFrom: { file: 'a' } }] } }),
      new RegExp(`spec.targets\\[0\\].${kind}.outputs\\[0\\].passwordFrom: .*only applies to pkcs12 and jks`),
    ],
    [
      `a password of a ${kind} from nowhere`,
      target({ [kind]: { name: 'a', outputs: [{ name: 'a', format: 'jks', passwordFrom: {} }] } }),
      new RegExp(
        `spec.targets\\[0\\].${kind}.outputs\\[0\\].passwordFrom: .*give exactly one of file, secret`,
      ),
    ],
  ]),
  [
    'a key in a bundle',
    target({ secret: { name: 'a', outputs: [{ name: 'a', format: 'combined' }] } }),
    /spec.targets\[0\].secret.outputs\[0\].format: Unsupported value: "combined"/,
  ],
  ['a TrustBundle without targets', bundle({ targets: [] }), /spec.targets: .*at least 1/],
  [
    'a source of two kinds',
    bundle({ sources: [{ authority: 'a/b', configMap: { name: 'b' } }] }),
    /spec.sources\[0\]: .*give exactly one of authority, secret, configMap, inline/,
  ],
  [
    'a source by name and by labels',
    bundle({ sources: [{ configMap: { name: 'a', selector: { matchLabels: { a: 'b' } } } }] }),
    /spec.sources\[0\].configMap: .*give exactly one of name, selector/,
  ],
  [
    'a source without a name',
    bundle({ sources: [{ secret: { key: 'ca.crt' } }] }),
    /spec.sources\[0\].secret: .*give exactly one of name, selector/,
  ],
  ['a source of no kind', bundle({ sources: [{}] }), /spec.sources\[0\]: .*give exactly one/],
  [
    'a private key',
    bundle({ sources: [{ inline: `${PEM}-----BEGIN PRIVATE KEY-----\nMIGH\n` }] }),
    /spec.sources\[0\].inline: .*holds a private key; remove it/,
  ],
  [
    'a target of two kinds',
    target({ configMap: { name: 'a' }, secret: { name: 'a' } }),
    /spec.targets\[0\]: .*give exactly one of configMap, secret, clusterTrustBundle, inject/,
  ],
  [
    'webhooks of an APIService',
    target({ inject: { kind: 'APIService', name: 'a', webhooks: ['b'] } }),
    /spec.targets\[0\].inject.webhooks: .*only applies to webhook configurations; leave it out/,
  ],
  [
    'a bundle named apart from its signer',
    target({ clusterTrustBundle: { name: 'all', signerName: 'example.com/mesh' } }),
    /spec.targets\[0\].clusterTrustBundle.name: .*must begin with its signerName/,
  ],
  [
    'a bundle with a colon and no signer',
    target({ clusterTrustBundle: { name: 'example.com:mesh:all' } }),
    /spec.targets\[0\].clusterTrustBundle.name: .*without signerName it has no colon/,
  ],
  [
    'a key outside its directory',
    target({ configMap: { name: 'a', key: '../ca.crt' } }),
    /spec.targets\[0\].configMap.key: /,
  ],
  [
    'Custom without a body',
    profile({ type: 'Custom' }),
    /spec.custom: .*is required with type: Custom, and only allowed there/,
  ],
  [
    'a body without Custom',
    profile({ custom: { ciphers: ['a'] } }),
    /spec.custom: .*is required with type: Custom/,
  ],
  ['an unknown profile', profile({ type: 'Bogus' }), /spec.type: Unsupported value: "Bogus"/],
  [
    'too many ciphers',
    profile({ type: 'Custom', custom: { ciphers: many(65) } }),
    /spec.custom.ciphers: Too many: 65/,
  ],
];

/** Every message of the parser about a resource that the API server accepts. */
export const LEFT_OVER =
  /is out of bounds; use |is not less than the lifetime|does not fit: a rotation|list it in ipAddresses|is not an IPv4 or IPv6 address|holds no certificate|matchLabels|is longer than maxLifetime|is not an IP address or range|is an IPv4 address in IPv6 form/;

/** Accepted by the API server and refused by the parser: the operator answers with a condition. This list is complete. */
export const LEFT_TO_CONDITIONS: readonly (readonly [string, Json, RegExp])[] = [
  [
    'a lifetime below its bounds',
    authority({ lifetime: '20s' }),
    /spec.lifetime: "20s" is out of bounds; use 1m to 100y/,
  ],
  ['a lifetime beyond them', leaf({ lifetime: '999999999y' }), /spec.lifetime: .*out of bounds/],
  [
    'a reloadWithin beyond its bounds',
    authority({ rotation: { reloadWithin: '1y' } }),
    /spec.rotation.reloadWithin: .*out of bounds/,
  ],
  [
    'a patience beyond its bounds',
    authority({ rotation: { patience: '2y' } }),
    /spec.rotation.patience: .*out of bounds/,
  ],
  [
    'a schedule longer than life',
    authority({ lifetime: '30d', rotation: { before: '30d' } }),
    /spec.rotation.before: .*is not less than the lifetime/,
  ],
  [
    'a reloadWithin that does not fit',
    authority({ lifetime: '10m' }),
    /spec.rotation.reloadWithin: .*does not fit/,
  ],
  [
    'an IP address as a DNS name',
    leaf({ dnsNames: ['10.0.0.1'] }),
    /spec.dnsNames\[0\]: .*list it in ipAddresses/,
  ],
  [
    'an IPv6 address with too many groups',
    leaf({ ipAddresses: ['1:2:3:4:5:6:7:8:9'] }),
    /spec.ipAddresses\[0\]: .*is not an IPv4 or IPv6 address/,
  ],
  [
    'a shortest lifetime above the longest',
    authority({ issueTo: { minLifetime: '2h', maxLifetime: '1h' } }),
    /spec.issueTo.minLifetime: .*is longer than maxLifetime/,
  ],
  [
    'a prefix longer than the address',
    authority({ issueTo: { ipAddresses: ['10.0.0.0/33'] } }),
    /spec.issueTo.ipAddresses\[0\]: .*is not an IP address or range/,
  ],
  [
    'an IPv4 range in IPv6 form',
    authority({ nameConstraints: { ipAddresses: ['::ffff:10.0.0.0/104'] } }),
    /spec.nameConstraints.ipAddresses\[0\]: .*is an IPv4 address in IPv6 form/,
  ],
  [
    'an inline text without a certificate',
    bundle({ sources: [{ inline: 'hello' }] }),
    /spec.sources\[0\].inline: holds no certificate/,
  ],
  [
    'a label with a name too long',
    authority({ issueTo: { namespaceSelector: { matchLabels: { ['a'.repeat(400)]: 'x' } } } }),
    /spec.issueTo.namespaceSelector.matchLabels/,
  ],
];
