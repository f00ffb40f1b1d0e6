// One namespace asks for as much work as the API allows; the leaf of another is still renewed in time.
import { once } from 'node:events';
import { get } from 'node:http';
import { connect, type Socket } from 'node:net';
import { secrets } from '@handover/kube';
import { instant, verifyChain } from '@handover/material';
import { RESOURCE_KINDS } from '@handover/operator';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { AuthoritySeen } from './pods.ts';
import { resource, until } from './stage.ts';
import { EVIL, put, setTenantStage, slowestLivez, type TenantStage } from './tenant-stage.ts';
import { type Victim, victim } from './tenant-victim.ts';

let stage: TenantStage;
let prod: Victim;
beforeAll(async () => {
  stage = await setTenantStage();
  prod = await victim(stage, 'prod', {}, { lifetime: '30s', renew: { at: '50%' } });
  await prod.served();
}, 300_000);
afterAll(() => stage?.stop());

const LEAVES = 40;
const ALLOWED_LEAVES = 10;
const HALF_OPEN = 500;
const ADOPTING = 500;
const WATCHED_MS = 36_000;

/** The shortest lifetime that the API server accepts, and the most expensive key. */
const GREEDY = { key: 'RSA-4096', lifetime: '10s', renew: { at: '1%' } };
/** The same, as far as an Authority lets other namespaces have it. */
const ALLOWED = { key: 'RSA-3072', lifetime: '1h' };
const leaf = (name: string, authority: string, spec: object): object =>
  resource('Leaf', name, { authority, dnsNames: [`${name}.evil.svc`], ...spec }, EVIL);

/** What the operator says about a Leaf of evil; undefined: nothing yet. */
const saidOf = async (name: string): Promise<string | undefined> => {
  const found = await stage.evil.get(RESOURCE_KINDS.Leaf, { namespace: EVIL, name });
  const { conditions = [] } = (found?.status ?? {}) as AuthoritySeen;
  const ready = conditions.find(({ type }) => type === 'Ready');
  return ready === undefined ? undefined : `${ready.status} ${ready.message}`;
};

/** Begins requests at the health port, and ends none. */
const halfOpen = async (): Promise<readonly Socket[]> =>
  Promise.all(
    Array.from({ length: HALF_OPEN }, async () => {
      const socket = connect(stage.operator.healthPort, '127.0.0.1').on('error', () => {});
      await once(socket, 'connect');
      socket.write('GET /livez HTTP/1.1\r\n');
      return socket;
    }),
  );

test('the health port answers for no other host', async () => {
  const answer = await new Promise<number | undefined>((resolve, reject) => {
    const headers = { host: 'evil.example.com' };
    get({ port: stage.operator.healthPort, host: '127.0.0.1', path: '/livez', headers }, (response) => {
      response.resume();
      resolve(response.statusCode);
    }).on('error', reject);
  });
  expect(answer).toBe(421);
});

test('500 requests at the health port that never end keep no probe from its answer', async () => {
  const sockets = await halfOpen();
  // A new connection: the one of earlier probes is the oldest, and had to go.
  await until(async () => (await stage.operator.livez()) < 5_000, '/livez to answer', 10_000);
  for (const socket of sockets) socket.destroy();
});

test('500 Authorities that adopt Secrets which never come delay no leaf of another namespace', async () => {
  const names = Array.from({ length: ADOPTING }, (_, index) => `adopting-${index}`);
  const make = (name: string) =>
    put(stage.evil, resource('Authority', name, { adopt: { secret: `${name}-ca` } }, EVIL));
  for (let from = 0; from < names.length; from += 25)
    await Promise.all(names.slice(from, from + 25).map(make));
  const began = performance.now();
  const spec = { authority: 'mesh', dnsNames: ['late.prod.svc'] };
  await put(stage.admin, resource('Leaf', 'late', spec, 'prod'));
  const isThere = () => stage.admin.get(secrets, { namespace: 'prod', name: 'late' });
  await until(isThere, 'a new leaf of prod', 60_000);
  const took = performance.now() - began;
  console.log(`beside ${ADOPTING} Authorities that adopt, a new leaf took ${Math.round(took)} ms`);
  // With a list and a watch for each, at 45 requests a second, it would take 22 s before anything else is read.
  expect(took).toBeLessThan(20_000);
  for (let from = 0; from < names.length; from += 25)
    await Promise.all(
      names
        .slice(from, from + 25)
        .map((name) => stage.evil.delete(RESOURCE_KINDS.Authority, { namespace: EVIL, name })),
    );
});

test('90 leaves with costly keys let no leaf of another namespace expire, and /livez answers', async () => {
  await put(stage.evil, resource('Authority', 'own', { key: 'RSA-4096' }, EVIL));
  for (let index = 0; index < LEAVES; index++) {
    await put(stage.evil, leaf(`own-${index}`, 'own', GREEDY));
    await put(stage.evil, leaf(`mesh-${index}`, prod.id, GREEDY));
    if (index < ALLOWED_LEAVES) await put(stage.evil, leaf(`allowed-${index}`, prod.id, ALLOWED));
  }
  const leaves = new Set<string>();
  const expired: string[] = [];
  const slowest = await slowestLivez(stage.operator, async () => {
    const end = Date.now() + WATCHED_MS;
    while (Date.now() < end) {
      const now = await prod.leaf();
      const at = instant(Date.now());
      const verdict = now && verifyChain({ ...now, at, purpose: 'server' });
      if (verdict?.ok === false) expired.push(`${new Date(at).toISOString()} ${verdict.code}`);
      leaves.add(now?.chain[0]?.fingerprint ?? '');
      await new Promise((resolve) => setTimeout(resolve, 200));
    }
  });
  prod.unwatch();
  console.log(
    `/livez took ${Math.round(slowest)} ms at most; ${leaves.size} leaves of prod in ${WATCHED_MS / 1000} s`,
  );
  expect({
    expired: expired.slice(0, 1),
    livez: slowest < 5_000 ? 'in time' : `${Math.round(slowest)} ms`,
    lies: prod.lies.slice(0, 1),
  }).toEqual({ expired: [], livez: 'in time', lies: [] });
  expect(leaves.size).toBeGreaterThanOrEqual(2);
  await until(async () => (await prod.condition('Ready'))?.status === 'True', 'prod to be Ready');
  // They keep the turns of their own namespace busy, and so its answers waiting.
  for (let index = 0; index < LEAVES; index++)
    await stage.evil.delete(RESOURCE_KINDS.Leaf, { namespace: EVIL, name: `own-${index}` });
  for (let index = 0; index < LEAVES; index++) {
    const said = await until(() => saidOf(`mesh-${index}`), `an answer to mesh-${index}`, 120_000);
    expect(said).toMatch(/^False .*spec\.key: "RSA-4096" is not allowed/);
  }
  const isIssued = async () => (await saidOf('allowed-0'))?.startsWith('True');
  await until(isIssued, 'a Leaf that evil may have to be issued', 120_000);
});
