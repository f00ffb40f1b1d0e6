import { configMaps, secrets } from '@handover/kube';
import { RESOURCE_KINDS } from '@handover/operator';
import { expect, onTestFinished, test } from 'vitest';
import { ClusterWorld } from '../../test/cluster-world.ts';
import { keysIn, keysMade } from '../../test/keys-made.ts';

test('/metrics of an operator shows a rotation, and nothing it prints at trace level holds a key', async () => {
  const made = keysMade();
  onTestFinished(() => made.end());
  const world = await ClusterWorld.open();
  const { kube } = world;
  await world.authority('default/mesh', {
    rotation: { reloadWithin: '0s' },
    consumers: [{ name: 'web', presents: true, verifies: true, leaf: 'web', reload: 'hot' }],
  });
  await world.ask('Leaf', 'default/web', {
    authority: 'mesh',
    secretName: 'web',
    dnsNames: ['web.default.svc'],
    usages: ['server'],
  });
  const live = world.operate('--log-level', 'trace');
  const url = await world.soon(
    () => /"event":"serving","url":"([^"]+)"/.exec(live.said())?.[1] ?? expect.fail(live.said()),
  );
  let page = '';
  const scraped = (...wanted: readonly RegExp[]): Promise<void> =>
    world.soon(async () => {
      page = (await (await fetch(`${url}/metrics`)).text())
        .split('\n')
        .filter((line) => line.startsWith('handover_'))
        .join('\n');
      for (const each of wanted) expect(page, live.said().slice(-2_000)).toMatch(each);
    });
  await scraped(
    /^handover_leading 1$/m,
    /^handover_authority_phase\{authority="default\/mesh",phase="Stable"\} 1$/m,
    /^handover_leaf_expiry_timestamp_seconds\{leaf="default\/web",authority="default\/mesh"\} \d{10}/m,
    /^handover_api_requests_total\{verb="create",resource="secrets",code="201"\} [1-9]/m,
    /^handover_api_requests_total\{verb="watch",resource="authorities",code="200"\} [1-9]/m,
    /^handover_api_request_duration_seconds_count\{verb="create"\} [1-9]/m,
    /^handover_queue_planned [1-9]/m,
  );
  const bundle = { namespace: 'default', name: 'mesh-trust' };
  await kube.patch(configMaps, bundle, {
    merge: { data: { 'ca.crt': 'not ours' } },
    fieldManager: 'another-program',
  });
  await scraped(/^handover_drift_repairs_total\{kind="configmaps"\} 1$/m);
  await kube.patch(
    RESOURCE_KINDS.Authority,
    { namespace: 'default', name: 'mesh' },
    { merge: { metadata: { annotations: { 'handover.dev/rotate': 'q1' } } } },
  );
  await scraped(
    /^handover_ca_expiry_timestamp_seconds\{authority="default\/mesh",generation="2",role="current"\} /m,
    /^handover_decisions_total\{action="retire"\} 1$/m,
    /^handover_authority_phase\{authority="default\/mesh",phase="Stable"\} 1$/m,
  );
  expect((await fetch(`${url}/readyz`)).status).toBe(200);
  expect(await world.clock.during(live.stop())).toBe(0);

  const lines = live
    .said()
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
  for (const event of ['request', 'decided', 'acted', 'repaired', 'rested'])
    expect(lines.map((line) => line.event)).toContain(event);
  expect(lines.find(({ event, action }) => event === 'decided' && action === 'retire').why).toMatch(/\w/);
  // Two CAs and two leaves at least.
  expect(made.keys.length).toBeGreaterThan(3);
  expect(keysIn(live.said() + page, made.keys)).toEqual([]);
  expect(live.said() + page).not.toMatch(/PRIVATE/);
  const stored = await kube.get(secrets, { namespace: 'default', name: 'web' });
  const key = Buffer.from(stored?.data?.['tls.key'] ?? '', 'base64').toString();
  expect(keysIn(key, made.keys).length).toBeGreaterThan(0);
});
