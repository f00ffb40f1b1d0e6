// Records that another namespace forges: leaves are still renewed, a rotation ends, and a distrust takes effect.
import { createHash } from 'node:crypto';
import { configMaps, secrets } from '@handover/kube';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { resource, until } from './stage.ts';
import { EVIL, put, secret, setTenantStage, type TenantStage } from './tenant-stage.ts';
import { SHORT, type Victim, victim } from './tenant-victim.ts';

let stage: TenantStage;
beforeAll(async () => {
  stage = await setTenantStage();
}, 300_000);
afterAll(() => stage?.stop());

const RECORD = 'handover.dev/record';
const FAR_AHEAD = 1e9;

/** As the engine reckons it: over names and values, in the order of the names. */
const digestOf = (data: Readonly<Record<string, string>>): string => {
  const hash = createHash('sha256');
  for (const key of Object.keys(data).sort()) {
    const value = data[key] ?? '';
    hash.update(`${key.length}:${key}${Buffer.byteLength(value)}:`).update(value);
  }
  return hash.digest('hex');
};

const madeUp = (authority: string, data: Readonly<Record<string, string>>, part = ''): string =>
  JSON.stringify({
    format: 1,
    keptIn: 'handover-system',
    parts: {
      [part]: {
        at: Date.now(),
        record: {
          digest: digestOf(data),
          revisions: { [authority]: FAR_AHEAD },
          anchors: [],
          changedAt: Date.now(),
          issuedBy: authority,
        },
        seal: { by: authority, mac: 'A'.repeat(43), also: { [`${EVIL}/own`]: 'A'.repeat(43) } },
      },
    },
  });

const ahead = (record: string): string => record.replaceAll(/("[^"]+\/mesh":)\d+/g, `$1${FAR_AHEAD}`);

const forge = (name: string, record: string, data: Readonly<Record<string, string>>): Promise<unknown> =>
  put(
    stage.evil,
    secret(EVIL, name, data, {
      labels: { 'handover.dev/managed': 'true', 'app.kubernetes.io/managed-by': 'handover' },
      annotations: { [RECORD]: record },
    }),
  );

const recordOf = async (
  kind: typeof secrets | typeof configMaps,
  namespace: string,
  name: string,
): Promise<string> =>
  until(
    async () => (await stage.admin.get(kind, { namespace, name }))?.metadata.annotations?.[RECORD],
    `a record on ${namespace}/${name}`,
  );

/** Its leaf is renewed, a rotation ends, a distrust takes effect, and its status was never wrong. */
const goesOn = async (attacked: Victim): Promise<void> => {
  const failed: string[] = [];
  const tried = async (what: string, step: () => Promise<void>): Promise<void> => {
    await step().catch((error: unknown) => failed.push(`${what}: ${String(error).slice(0, 300)}`));
  };
  await tried('renewal', () => attacked.renewed(65_000));
  // Where the first stands still, so does the rest: no need to wait long for it.
  const patience = failed.length === 0 ? 60_000 : 5_000;
  await tried('rotation', () => attacked.rotated(2, patience));
  const { generations = [] } = await attacked.status();
  const current = generations.find(({ role }) => role === 'current')?.generation ?? 1;
  await tried('distrust', () => attacked.distrusted(current, Math.min(patience, 30_000)));
  attacked.unwatch();
  expect({ failed, lies: attacked.lies.slice(0, 1) }).toEqual({ failed: [], lies: [] });
};

const begin = async (namespace: string): Promise<Victim> => {
  const attacked = await victim(stage, namespace, {}, SHORT);
  await attacked.served();
  return attacked;
};

test.concurrent('a record that is made up, far ahead of the Authority it names, changes nothing for it', async () => {
  const attacked = await begin('prod-1');
  await forge('made-up', madeUp(attacked.id, { a: 'b' }), { a: 'b' });
  await forge('made-up-drifted', madeUp(attacked.id, { a: 'b' }), { a: 'c' });
  await goesOn(attacked);
});

test.concurrent('a record that is copied from an object of the Authority changes nothing for it', async () => {
  const attacked = await begin('prod-2');
  const record = await recordOf(secrets, 'prod-2', 'web');
  const bundle = await recordOf(configMaps, 'prod-2', 'mesh-trust');
  await forge('copied', record, { a: 'b' });
  await forge('copied-bundle', bundle, { 'ca.crt': 'x' });
  await forge('copied-ahead', ahead(record), { a: 'b' });
  await goesOn(attacked);
});

test.concurrent('a record that is only copied, and says nothing new, changes nothing for its Authority', async () => {
  const attacked = await begin('prod-3');
  await forge('verbatim', await recordOf(secrets, 'prod-3', 'web'), { a: 'b' });
  await goesOn(attacked);
});

test.concurrent('a record that is forged on a Secret which the Authority keeps in the other namespace changes nothing for it', async () => {
  const attacked = await begin('prod-4');
  await put(
    stage.evil,
    resource('Leaf', 'mine', { authority: attacked.id, dnsNames: ['mine.evil.svc'] }, EVIL),
  );
  const record = await recordOf(secrets, EVIL, 'mine');
  // Again and again: the operator may put it right in between.
  const forging = setInterval(() => {
    const annotations = { [RECORD]: ahead(record) };
    void stage.evil
      .patch(secrets, { namespace: EVIL, name: 'mine' }, { merge: { metadata: { annotations } } })
      .catch(() => {});
  }, 500);
  await goesOn(attacked).finally(() => clearInterval(forging));
});

test.concurrent('a record that is forged on a bundle which the Authority keeps in the other namespace changes nothing for it', async () => {
  const attacked = await begin('prod-5');
  const namespaceSelector = { matchLabels: { 'kubernetes.io/metadata.name': EVIL } };
  await put(
    stage.admin,
    resource('TrustBundle', 'spread-5', {
      sources: [{ authority: attacked.id }],
      targets: [{ configMap: { name: 'spread-5', namespaceSelector } }],
    }),
  );
  const record = await recordOf(configMaps, EVIL, 'spread-5');
  const forging = setInterval(() => {
    const annotations = { [RECORD]: ahead(record) };
    void stage.evil
      .patch(configMaps, { namespace: EVIL, name: 'spread-5' }, { merge: { metadata: { annotations } } })
      .catch(() => {});
  }, 500);
  await goesOn(attacked).finally(() => clearInterval(forging));
});
