import { readdirSync, readFileSync } from 'node:fs';
import {
  API_VERSION,
  type AuthorityResourceStatus,
  type Kind,
  type LeafResourceStatus,
  parseResource,
  type TlsProfileResourceStatus,
  type TrustBundleResourceStatus,
} from '@handover/core';
import { crds, KIND_TABLE } from '@handover/install';
import { HandoverError } from '@handover/material';
import { RANDOM_INPUTS } from '@handover/test-api-server';
import { type Cluster, startCluster } from '@handover/test-cluster';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { madeUp } from './made-up.ts';
import { type Answer, type Ask, eventually, type Json, type Requests, requestsTo } from './requests.ts';
import {
  authority,
  bundle,
  GOOD,
  LEFT_OVER,
  LEFT_TO_CONDITIONS,
  leaf,
  profile,
  REFUSED,
} from './resources.ts';

let cluster: Cluster;
let send: Requests;
let close = () => {};

beforeAll(async () => {
  cluster = await startCluster();
  ({ send, close } = requestsTo(cluster));
  await cluster.apply(...crds());
  for (const crd of crds()) {
    await eventually(
      () => send('GET', `/apis/apiextensions.k8s.io/v1/customresourcedefinitions/${crd.metadata.name}`),
      ({ body }) => conditions(body).Established === 'True',
    );
  }
  // `kubectl explain` reads this, which is ready a moment later.
  await eventually(
    () => send('GET', `/openapi/v3/apis/${API_VERSION}`),
    ({ body }) => crds().every(({ spec }) => JSON.stringify(body).includes(`/${spec.names.plural}/`)),
  );
});
afterAll(async () => {
  close();
  await cluster?.stop();
});

const conditions = (body: Json): Readonly<Record<string, string>> => {
  const status = body.status as { conditions?: { type: string; status: string }[] } | undefined;
  return Object.fromEntries((status?.conditions ?? []).map(({ type, status }) => [type, status]));
};

const pathOf = (kind: Kind, name?: string): string => {
  const { plural, scope } = KIND_TABLE[kind];
  const where = scope === 'Cluster' ? '' : '/namespaces/default';
  return `/apis/${API_VERSION}${where}/${plural}${name === undefined ? '' : `/${name}`}`;
};
const kindOf = (object: Json) => object.kind as Kind;
const nameOf = (object: Json) => (object.metadata as { name: string }).name;

/** Creates nothing: the answer is all that is wanted. */
const tried = (object: Json): Promise<Answer> =>
  send('POST', pathOf(kindOf(object)), {
    body: object,
    query: { dryRun: 'All', fieldValidation: 'Strict' },
  });
const apply = (object: Json, manager: string, ask: Ask = {}, sub = ''): Promise<Answer> =>
  send('PATCH', `${pathOf(kindOf(object), nameOf(object))}${sub}`, {
    body: object,
    query: { fieldManager: manager, fieldValidation: 'Strict' },
    ...ask,
  });

const parserSays = (object: Json): string => {
  try {
    parseResource(object, 'x');
    return 'accepted';
  } catch (error) {
    if (error instanceof HandoverError) return error.message;
    throw error;
  }
};

test.each(crds().map((crd) => [crd.metadata.name]))('%s is established and structural', async (name) => {
  const { body } = await send('GET', `/apis/apiextensions.k8s.io/v1/customresourcedefinitions/${name}`);
  expect(conditions(body)).toEqual({ NamesAccepted: 'True', Established: 'True' });
});

test('kubectl explain says what a field is for, and what it is by default', async () => {
  const said = await cluster.kubectl('explain', 'authority.spec.rotation.reloadWithin');
  expect(said).toMatch(/FIELD: reloadWithin <string>/);
  expect(said.replaceAll(/\s+/g, ' ')).toContain(
    'Consumers that give no evidence reload within this time. Default: 3m.',
  );
  expect((await cluster.kubectl('explain', 'tb')).replaceAll(/\s+/g, ' ')).toContain(
    'as one canonical bundle in others',
  );
});

test('kubectl explain has words for every field', async () => {
  for (const kind of ['authority', 'leaf', 'trustbundle', 'tlsprofile']) {
    expect(await cluster.kubectl('explain', '--recursive=false', `${kind}.spec`)).not.toContain(
      '<no description>',
    );
    expect(await cluster.kubectl('explain', `${kind}.status`)).not.toContain('<no description>');
  }
});

describe('taken by both homes', () => {
  test.each(GOOD)('%s', async (_, object) => {
    expect(await tried(object)).toMatchObject({ code: 201 });
    expect(parserSays(object)).toBe('accepted');
  });

  const root = new URL('../../../../examples/', import.meta.url);
  const examples = readdirSync(root, { recursive: true, encoding: 'utf8' })
    .filter((path) => /\.ya?ml$/.test(path))
    .flatMap((path) =>
      parseAllDocuments(readFileSync(new URL(path, root), 'utf8')).map(
        (document, index) => [`${path} #${index}`, document.toJS() as Json] as const,
      ),
    )
    .filter(([, object]) => object?.apiVersion === API_VERSION);

  test('there are examples', () => expect(examples.length).toBeGreaterThan(0));
  test.each(examples)('examples/%s', async (_, object) => {
    expect(await tried(object)).toMatchObject({ code: 201 });
  });
});

describe('refused by both homes, the field named', () => {
  test.each(REFUSED)('%s', async (_, object, message) => {
    const answer = await tried(object);
    expect(answer.code).toBeGreaterThanOrEqual(400);
    expect(answer.message).toMatch(message);
    expect(parserSays(object)).not.toBe('accepted');
  });

  test('a private key is not repeated in the answer', async () => {
    const key = '-----BEGIN EC PRIVATE KEY-----\nMHcCAQEEIB\n';
    const { message } = await tried(bundle({ sources: [{ inline: key }] }));
    expect(message).toContain('holds a private key');
    expect(message).not.toContain('MHcC');
  });
});

describe('taken by the API server, refused by the parser: for a condition', () => {
  test.each(LEFT_TO_CONDITIONS)('%s', async (_, object, message) => {
    expect(await tried(object)).toMatchObject({ code: 201 });
    expect(parserSays(object)).toMatch(message);
    expect(parserSays(object)).toMatch(LEFT_OVER);
  });
});

test(
  'the API server accepts what the parser accepts; what only the parser refuses is on the list',
  RANDOM_INPUTS,
  async () => {
    let taken = 0;
    await fc.assert(
      fc.asyncProperty(madeUp, async (object) => {
        const [said, answer] = [parserSays(object), await tried(object)];
        if (said === 'accepted') {
          taken++;
          expect(answer).toMatchObject({ message: '', code: 201 });
        } else if (answer.code < 400) {
          for (const problem of said.split('; also ')) expect(problem).toMatch(LEFT_OVER);
        }
      }),
      { numRuns: 2500 },
    );
    // About one in eight is accepted: without this check, a generator of only invalid objects would pass.
    expect(taken).toBeGreaterThan(150);
  },
);

test('the API server treats null as absent', async () => {
  const { body } = await tried(authority({ rotation: null, lifetime: null }));
  expect(body.spec).toEqual({});
});

test('the API server fills in no defaults: readers apply them', async () => {
  const { body } = await apply(authority({ rotation: { strategy: 'Phased' } }, 'plain'), 'me');
  expect(body.spec).toEqual({ rotation: { strategy: 'Phased' } });
});

describe('server-side apply', () => {
  test('two managers of consumers each keep their own', async () => {
    await apply(authority({ consumers: [{ name: 'a', presents: true }] }, 'shared'), 'one');
    const { code, body } = await apply(
      authority({ consumers: [{ name: 'b', verifies: true }] }, 'shared'),
      'two',
    );
    expect(code).toBe(200);
    expect(body.spec).toEqual({
      consumers: [
        { name: 'a', presents: true },
        { name: 'b', verifies: true },
      ],
    });
  });

  test('a selector has one manager: a second one gets a conflict, not a merged selector', async () => {
    const selecting = (matchLabels: Json) =>
      authority({ issueTo: { namespaceSelector: { matchLabels } } }, 'selecting');
    await apply(selecting({ a: 'x' }), 'one');
    expect(await apply(selecting({ b: 'y' }), 'two')).toMatchObject({ code: 409 });
  });

  test('conditions merge by type, and status is separate from spec', async () => {
    const object = authority({}, 'conditions');
    await apply(object, 'me');
    const condition = (type: string, status: string) => ({
      type,
      status,
      reason: 'Because',
      message: 'It is so.',
      lastTransitionTime: '2026-01-01T00:00:00Z',
    });
    const status = (...conditions: readonly unknown[]) => ({
      ...object,
      spec: undefined,
      status: { conditions },
    });
    await apply(status(condition('Ready', 'True')), 'one', {}, '/status');
    const { body } = await apply(status(condition('Contended', 'False')), 'two', {}, '/status');
    expect(conditions(body)).toEqual({ Ready: 'True', Contended: 'False' });
    const main = await apply({ ...object, status: { phase: 'Stable' } }, 'me');
    expect(main.body.status).not.toHaveProperty('phase');
  });
});

describe('status', () => {
  const at = (days: number) => new Date(Date.UTC(2030, 0, 1 + days)).toISOString().replace('.000', '');
  const ready = (status: 'True' | 'False', message: string) =>
    [
      {
        type: 'Ready',
        status,
        reason: status === 'True' ? 'AsAsked' : 'Blocked',
        message,
        lastTransitionTime: at(0),
      },
    ] as const;
  const statuses: readonly (readonly [Json, object])[] = [
    [
      authority({}, 'dash'),
      {
        phase: 'Activating',
        generations: [
          { generation: 3, role: 'current', fingerprint: 'ab12', notBefore: at(0), notAfter: at(365) },
          { generation: 2, role: 'previous', fingerprint: 'cd34', notBefore: at(0), notAfter: at(30) },
        ],
        bundleHash: 'f00d',
        blockedBy: [
          { consumer: 'Deployment shop/web', waitsFor: 'to load a leaf of CA generation 3', since: at(1) },
          { consumer: 'Deployment shop/api', waitsFor: 'to load a leaf of CA generation 3', since: at(1) },
        ],
        workloads: { ready: 12, waiting: 2 },
        observedGeneration: 1,
        conditions: ready('False', 'Deployment shop/web has not loaded CA generation 3.'),
      } satisfies AuthorityResourceStatus,
    ],
    [
      leaf({}, 'dash'),
      {
        secretName: 'envoy',
        generation: 3,
        fingerprint: 'ab',
        notBefore: at(0),
        notAfter: at(90),
        renewAt: at(60),
        conditions: ready('True', 'Served.'),
      } satisfies LeafResourceStatus,
    ],
    [
      bundle({}, 'dash'),
      {
        hash: 'f00d',
        certificates: 2,
        targets: { ready: 7, failing: 1 },
        failing: [{ target: 'shop/configmaps/trust', why: 'it is kept by Helm; choose another name' }],
        conditions: ready('False', 'One target fails.'),
      } satisfies TrustBundleResourceStatus,
    ],
    [
      profile({}, 'dash'),
      {
        type: 'Intermediate',
        hash: 'beef',
        minTLSVersion: 'VersionTLS12',
        problems: ['X448: no such group'],
        notMounted: { count: 1, workloads: ['DaemonSet shop/net'] },
        conditions: ready('True', 'Written.'),
      } satisfies TlsProfileResourceStatus,
    ],
  ];

  test('kubectl get reads like a dashboard', async () => {
    for (const [object, status] of statuses) {
      await apply(object, 'me');
      const answer = await apply({ ...object, spec: undefined, status }, 'handover', {}, '/status');
      expect(answer).toMatchObject({ code: 200, body: { status } });
    }
    const rows = async (kind: string, ...flags: readonly string[]) =>
      (await cluster.kubectl('get', kind, 'dash', ...flags))
        .trim()
        .split('\n')
        .map((line) => line.split(/\s{2,}|\s(?=\d+s$)/).map((cell) => cell.trim()));
    const seconds = expect.stringMatching(/^\d+s$/);
    expect(await rows('auth')).toEqual([
      ['NAME', 'PHASE', 'GENERATION', 'EXPIRES', 'WAITING-FOR', 'READY', 'AGE'],
      ['dash', 'Activating', '3', at(365), 'Deployment shop/web', 'False', seconds],
    ]);
    expect(await rows('lf')).toEqual([
      ['NAME', 'AUTHORITY', 'SECRET', 'GENERATION', 'EXPIRES', 'READY', 'AGE'],
      ['dash', 'mesh', 'envoy', '3', at(90), 'True', seconds],
    ]);
    expect(await rows('tb')).toEqual([
      ['NAME', 'CERTIFICATES', 'TARGETS', 'FAILING', 'FIRST-FAILING', 'READY', 'AGE'],
      ['dash', '2', '7', '1', 'shop/configmaps/trust', 'False', seconds],
    ]);
    expect(await rows('tlsp')).toEqual([
      ['NAME', 'PROFILE', 'MIN-TLS', 'PROBLEM', 'READY', 'AGE'],
      ['dash', 'Intermediate', 'VersionTLS12', 'X448: no such group', 'True', seconds],
    ]);
    expect(await cluster.kubectl('get', 'auth', 'dash', '-o', 'wide')).toContain(
      'has not loaded CA generation 3.',
    );
    const all = await cluster.kubectl('get', 'authorities,leaves,trustbundles,tlsprofiles');
    for (const { plural, singular } of Object.values(KIND_TABLE)) {
      expect(all).toContain(`${singular}.handover.dev/dash`);
      expect(plural).not.toBe(singular);
    }
    expect(await cluster.kubectl('get', 'handover')).toContain('leaf.handover.dev/dash');
    expect(await cluster.kubectl('wait', '--for=condition=Ready', 'leaf/dash', '--timeout=30s')).toContain(
      'condition met',
    );
  });

  test('at most 50 are named', async () => {
    const blockedBy = Array.from({ length: 51 }, () => ({ consumer: 'a', waitsFor: 'b', since: at(0) }));
    const object = { ...authority({}, 'dash'), spec: undefined };
    const { code, message } = await apply(
      { ...object, status: { blockedBy } },
      'handover',
      { query: { fieldManager: 'handover', force: 'true' } },
      '/status',
    );
    expect(code).toBe(422);
    expect(message).toMatch(/status.blockedBy: Too many: 51/);
  });
});

// Last, because it removes rules from the definitions.
type Node = Readonly<Record<string, unknown>>;
interface RuleAt {
  readonly message: string;
  /** The schema without that rule. */
  readonly without: Node;
}
const asNode = (value: unknown) => value as Node;
const rulesIn = (node: Node): readonly RuleAt[] => {
  const rules = (node['x-kubernetes-validations'] ?? []) as readonly { rule: string; message: string }[];
  const inside = (key: 'properties' | 'items'): readonly RuleAt[] => {
    if (node[key] === undefined) return [];
    if (key === 'items') {
      return rulesIn(asNode(node.items)).map((found) => ({
        ...found,
        without: { ...node, items: found.without },
      }));
    }
    return Object.entries(asNode(node.properties)).flatMap(([name, child]) =>
      rulesIn(asNode(child)).map((found) => ({
        ...found,
        without: { ...node, properties: { ...asNode(node.properties), [name]: found.without } },
      })),
    );
  };
  return [
    ...rules
      // Forms of texts all come from one place; the others are each their own.
      .filter(({ rule }) => !rule.startsWith('self.matches('))
      .map(({ message, rule }) => ({
        message,
        without: { ...node, 'x-kubernetes-validations': rules.filter((other) => other.rule !== rule) },
      })),
    ...inside('properties'),
    ...inside('items'),
  ];
};
const ruleCases = crds().flatMap((crd) => {
  const [version] = crd.spec.versions;
  return version === undefined
    ? []
    : rulesIn(version.schema.openAPIV3Schema).map(
        ({ message, without }) =>
          [
            crd.spec.names.kind,
            message,
            {
              ...crd,
              spec: { ...crd.spec, versions: [{ ...version, schema: { openAPIV3Schema: without } }] },
            },
          ] as const,
      );
});

describe('without this rule an invalid object would pass', () => {
  const answers: { readonly object: Json; readonly message: string }[] = [];
  beforeAll(async () => {
    for (const [, object] of REFUSED) answers.push({ object, message: (await tried(object)).message });
  });

  test('there are rules to take away', () => expect(ruleCases.length).toBeGreaterThan(10));

  test.each(ruleCases)('%s: %s', async (kind, message, crd) => {
    const refused = answers.filter(
      ({ object, message: said }) => object.kind === kind && said.includes(message),
    );
    expect(refused.length).toBeGreaterThan(0);
    await cluster.apply(crd);
    for (const { object } of refused) {
      // Two places can have the same rule: this ignores refusals by the other place.
      const answer = await eventually(
        () => tried(object),
        ({ message: said }) => !said.includes(message),
        5_000,
      ).catch(() => undefined);
      if (answer?.code === 201) return;
    }
    expect.fail('everything is refused all the same');
  });
});
