import { RESOURCE_KINDS } from '@handover/operator';
import { beforeEach, expect, test } from 'vitest';
import { ClusterWorld } from '../../test/cluster-world.ts';

let world: ClusterWorld;
/** Paths of Secrets that this account was refused. */
let refused: string[];
beforeEach(async () => {
  refused = [];
  world = await ClusterWorld.open();
  await world.ask('Authority', 'default/mesh', { rotation: { reloadWithin: '0s' } });
  world.operate('--log-level', 'error');
  // The operator asks for states of its own namespace: the first question of a command is the only one of its kind.
  world.server.faults.add({
    when: ({ path, query }) => {
      const isQuestion = path === '/api/v1/secrets' && query.get('labelSelector')?.includes('state') === true;
      if (isQuestion) refused.push(path);
      return isQuestion;
    },
    times: 1e9,
    status: 403,
    reason: 'Forbidden',
  });
  await shows(/^default\/mesh {2}Stable$/m);
});

/** Waits until the status, as the operator wrote it, says so. */
const shows = (text: RegExp): Promise<void> =>
  world.soon(async () => expect((await world.runs('status')).stdout).toMatch(text));

test('an account that may not read Secrets sees in status and plan what the operator wrote, and no Secret is asked for but once', async () => {
  await world.leaf('default/web', 'mesh');
  await shows(/^ {4}default\/web {2}CA generation 1 /m);
  refused.length = 0;
  const before = world.server.requests.length;
  const { code, stdout } = await world.runs('status', 'default/mesh');
  expect(code).toBe(0);
  expect(stdout).toMatch(/^default\/mesh {2}Stable$/m);
  expect(stdout).toMatch(/^ {2}CA generation 1 {2}current {2}[0-9a-f]{12} {2}until /m);
  expect(stdout).toMatch(/^ {4}default\/web {2}CA generation 1 /m);
  expect(stdout).toMatch(/created CA generation 1: the authority has no CA yet/);
  expect(stdout).toMatch(/may not read the Secrets of Handover/);
  const all = JSON.parse((await world.runs('status', '--json')).stdout);
  expect(all.authorities).toMatchObject([
    { phase: 'Stable', ready: true, leaves: [{ name: 'web', secret: 'default/secrets/web' }] },
  ]);
  const { plans } = JSON.parse((await world.runs('plan', '--json')).stdout);
  expect(plans).toMatchObject([{ authority: 'default/mesh', phase: 'Stable', blockedBy: [] }]);
  const secrets = world.server.requests
    .slice(before)
    .filter(({ path, query }) => path === '/api/v1/secrets' && !query.has('watch'));
  expect(secrets.map(({ path }) => path)).toEqual(refused);
  expect(refused).toHaveLength(3);
});

test('an account that may not read Secrets asks for a rotation and waits for its end', async () => {
  const { code, stdout } = await world.runs('rotate', 'default/mesh', '--id', 'a', '--wait', '--json');
  const answer = JSON.parse(stdout);
  expect({ code, ...answer }).toMatchObject({ code: 0, begun: true, done: true, phase: 'Stable' });
  expect(answer.generations).toMatchObject([{ generation: 2, role: 'current' }]);
  expect(await world.runs('rotate', 'default/mesh', '--id', 'a', '--wait')).toMatchObject({
    code: 0,
    stdout: 'rotation a of default/mesh is complete\n',
  });
});

test('an account that may not read Secrets distrusts a CA, and is told that it cannot know what fails', async () => {
  const dry = await world.runs('distrust', 'default/mesh', '--generation', '1');
  expect(dry).toMatchObject({ code: 0, stdout: expect.stringContaining('nothing was changed') });
  const { code, stdout } = await world.runs('distrust', 'default/mesh', '--generation', '1', '--yes');
  expect({ code, stdout }).toMatchObject({
    code: 0,
    stdout: expect.stringContaining('CA generation 1 of default/mesh is distrusted'),
  });
  await shows(/^ {2}CA generation 2 {2}current /m);
  expect(await world.runs('distrust', 'default/mesh', '--generation', '7')).toMatchObject({
    code: 1,
    stderr: expect.stringContaining(
      'GENERATION_UNKNOWN: default/mesh has no generation 7; it has 2 (current)',
    ),
  });
});

test('an Authority that does not exist is named to an account that may not read Secrets', async () => {
  expect(await world.runs('status', 'default/none')).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('AUTHORITY_UNKNOWN: there is no Authority default/none'),
  });
});

test('an account that may not read Secrets takes back a rotation that has not begun', async () => {
  const which = { namespace: 'default', name: 'mesh' };
  await world.kube.patch(RESOURCE_KINDS.Authority, which, {
    merge: { spec: { rotation: { paused: true } } },
    fieldManager: 'test',
  });
  await world.runs('rotate', 'default/mesh', '--id', 'later');
  await world.runs('rotate', 'default/mesh', '--id', 'last');
  const { stdout } = await world.runs('rotate', 'default/mesh', '--cancel', '--json');
  expect(JSON.parse(stdout)).toEqual({
    authority: 'default/mesh',
    dropped: ['later', 'last'],
    underWay: null,
  });
  expect((await world.runs('rotate', 'default/mesh', '--cancel')).stdout).toBe(
    'no rotation of default/mesh waits to begin\n',
  );
});
