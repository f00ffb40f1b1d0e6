// One namespace asks for as much work as the API allows; the leaf of another is still renewed in time.
import { instant, verifyChain } from '@handover/material';
import { afterAll, beforeAll, expect, test } from 'vitest';
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
const WATCHED_MS = 36_000;

/** The shortest lifetime that the API server and the operator accept from evil, and the most expensive key. */
const greedy = (name: string, authority: string): object =>
  resource(
    'Leaf',
    name,
    { authority, key: 'RSA-4096', lifetime: '10s', renew: { at: '1%' }, dnsNames: [`${name}.evil.svc`] },
    EVIL,
  );

test('40 leaves with keys of RSA-4096 that live ten seconds let no leaf of another namespace expire, and /livez answers', async () => {
  await put(stage.evil, resource('Authority', 'own', { key: 'RSA-4096' }, EVIL));
  let refused = 0;
  for (let index = 0; index < LEAVES; index++) {
    await put(stage.evil, greedy(`own-${index}`, 'own'));
    await put(stage.evil, greedy(`mesh-${index}`, prod.id)).catch(() => refused++);
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
    `/livez took ${Math.round(slowest)} ms at most; ${leaves.size} leaves of prod in ${WATCHED_MS / 1000} s; ${refused} Leaves of evil refused by the API server`,
  );
  expect({
    expired: expired.slice(0, 1),
    livez: slowest < 5_000 ? 'in time' : `${Math.round(slowest)} ms`,
    lies: prod.lies.slice(0, 1),
  }).toEqual({ expired: [], livez: 'in time', lies: [] });
  expect(leaves.size).toBeGreaterThanOrEqual(2);
  await until(async () => (await prod.condition('Ready'))?.status === 'True', 'prod to be Ready');
});
