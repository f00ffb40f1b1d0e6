import { HandoverError, second } from '@handover/material';
import { beforeEach, describe, expect, test } from 'vitest';
import { catalogue, MESH, on, type Parts, World } from '../../test/world.ts';
import { converge, type HomeFacts, readableCertificates } from '../index.ts';

const ID = 'default/mesh';
const THEIRS = 'evil/own';
const SHARED = catalogue(`${MESH.replace('reloadWithin: 20s', 'reloadWithin: 3m')}---
apiVersion: handover.dev/v1alpha1
kind: Authority
metadata: {name: own, namespace: evil}
spec: {rotation: {reloadWithin: 0s, strategy: Instant}}
---
apiVersion: handover.dev/v1alpha1
kind: TrustBundle
metadata: {name: all}
spec:
  sources: [{authority: default/mesh}, {authority: evil/own}]
  targets: [{configMap: {name: all}}]
`);

let world: World;
beforeEach(async () => {
  world = new World();
  for (const id of [ID, THEIRS, ID]) await converge(on(world.home, SHARED), id);
});

/** The home, with another answer about the state of the neighbour. */
const withState = (answer: () => undefined): Parts => ({
  ...world.home,
  authorities: {
    load: async (id) => (id === THEIRS ? answer() : world.authorities.load(id)),
    swap: (...args) => world.authorities.swap(...args),
  },
});
const cas = async (): Promise<number> =>
  readableCertificates((await world.object('default/configmaps/all/ca.crt')).data['ca.crt']).length;

test.each([
  ['STATE_OF_ANOTHER', 'was deleted and made again'],
  ['STATE_UNREADABLE', 'has a damaged state'],
])(
  'An authority does its work while another one that shares its bundle fails with %s: %s',
  async (code, why) => {
    const before = (await world.object('default/secrets/a')).data['tls.crt'];
    const home = withState(() => {
      throw new HandoverError(code, why);
    });
    world.pass(70 * 86_400 * second); // its own leaf is due
    await converge(on(home, SHARED), ID);
    expect((await world.object('default/secrets/a')).data['tls.crt']).not.toEqual(before);
    expect(await cas()).toBe(2);
  },
);

test('A bundle that two authorities share keeps the CAs of an authority whose state is gone, until its owner has decided', async () => {
  const home = withState(() => undefined);
  await converge(on(home, SHARED), THEIRS);
  world.rotate.push('r1');
  await converge(on(home, SHARED), ID);
  expect(await cas()).toBe(3);
});

test.each(['a rotation', 'a distrust'])(
  '%s ends while another authority that shares the bundle rotates every minute',
  async (what) => {
    const mine = what === 'a rotation' ? { rotate: ['go'], distrust: [] } : { rotate: [], distrust: [1] };
    const theirs = { rotate: [] as string[], distrust: [] };
    const home: Parts = {
      ...world.home,
      requests: { pending: async (id) => (id === THEIRS ? theirs : mine), done: async () => {} },
    };
    for (let minute = 0; minute < 60; minute++) {
      theirs.rotate.push(`r${minute}`);
      await converge(on(home, SHARED), THEIRS);
      await converge(on(home, SHARED), ID);
      world.pass(60 * second);
    }
    const { generations } = (await world.authorities.load(ID))?.state ?? {};
    expect(generations).toMatchObject([{ number: 2, role: 'current' }]);
  },
);

describe('Default CAs as a source', () => {
  const WITH_DEFAULTS = catalogue(`${MESH}---
apiVersion: handover.dev/v1alpha1
kind: TrustBundle
metadata: {name: all}
spec:
  sources: [{authority: default/mesh}, {defaultCas: true}]
  targets: [{configMap: {name: all}}]
`);
  const withDefaults = (defaultCas: HomeFacts['defaultCas']): Parts => ({
    ...world.home,
    facts: { ...world.home.facts, defaultCas },
  });

  test('Default CAs as a source stand beside the CAs of the authority', async () => {
    const theirs = [...((await world.authorities.load(THEIRS))?.certificates.values() ?? [])];
    expect(theirs).toHaveLength(1);
    await converge(
      on(
        withDefaults(() => theirs),
        WITH_DEFAULTS,
      ),
      ID,
    );
    expect(await cas()).toBe(2);
  });

  test('Default CAs as a source that are missing leave the bundle as it is', async () => {
    const held = (await world.object('default/configmaps/all/ca.crt')).data;
    for (const none of [undefined, () => ({ why: 'the file is gone' })]) {
      await converge(on(withDefaults(none), WITH_DEFAULTS), ID);
      expect((await world.object('default/configmaps/all/ca.crt')).data).toEqual(held);
    }
  });
});
