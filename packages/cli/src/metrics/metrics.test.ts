import type { Plan } from '@handover/core';
import type { Vitals } from '@handover/engine';
import { HandoverError, instant } from '@handover/material';
import { expect, test } from 'vitest';
import { Metrics } from './metrics.ts';
import { METRICS } from './names.ts';

const START = Date.UTC(2030, 0, 1);
const plan: Plan = {
  phase: 'Introducing',
  actions: [],
  blockedBy: [],
  notes: [],
  retained: [],
  wakeAt: undefined,
};
const vitals: Vitals = {
  phase: 'Introducing',
  phaseSince: instant(START - 5_000),
  generations: [{ number: 1, role: 'current', notBefore: instant(START), notAfter: instant(START + 10_000) }],
  retained: [],
  leaves: [],
  blockers: [],
  evidence: new Map(),
  served: [],
};
const open = () => {
  let now = START;
  const metrics = new Metrics({ version: '1.2.3', now: () => now });
  return {
    metrics,
    pass: (ms: number) => {
      now += ms;
    },
    page: async () => (await metrics.page()).body.split('\n').filter((line) => line.startsWith('handover_')),
  };
};
const rested = (authority: string, more: Partial<Vitals> = {}) =>
  ({ kind: 'rested', authority, plan, vitals: { ...vitals, ...more } }) as const;
const about = (lines: readonly string[], name: string): readonly string[] =>
  lines.filter((line) => line.startsWith(`${name}{`) || line.startsWith(`${name} `));

test('/metrics has every metric of the table, under its name and with its help', async () => {
  const { body, contentType } = await new Metrics({ version: '1.2.3', now: () => START }).page();
  expect(contentType).toBe('text/plain; version=0.0.4; charset=utf-8');
  for (const [name, help] of Object.values(METRICS)) {
    expect(name).toMatch(/^handover_[a-z_]+$/);
    expect(body).toContain(`# HELP ${name} ${help}\n`);
  }
});

test('/metrics stays bounded with any number of leaves and blockers, and shows those that end first', async () => {
  const { metrics, page } = open();
  const leaves = Array.from({ length: 5_000 }, (_, index) => ({
    leaf: `ns/leaf-${index}`,
    valid: { notBefore: instant(START), notAfter: instant(START + (5_000 - index) * 1_000) },
  }));
  const blockers = Array.from({ length: 200 }, (_, index) => ({
    consumer: `pod-${index}`,
    since: instant(START),
  }));
  metrics.on(rested('ns/mesh', { leaves, blockers }));
  const lines = await page();
  const shown = about(lines, 'handover_leaf_expiry_timestamp_seconds');
  expect(shown).toHaveLength(2_000);
  expect(shown[0]).toContain('leaf="ns/leaf-4999"');
  expect(about(lines, 'handover_leaf_not_before_timestamp_seconds')).toHaveLength(2_000);
  expect(about(lines, 'handover_blocking_consumer_since_timestamp_seconds')).toHaveLength(50);
  expect(about(lines, 'handover_blocked_consumers')).toEqual([
    'handover_blocked_consumers{authority="ns/mesh"} 200',
  ]);
});

test('1,000 authorities and 3,000 leaves of one namespace take no metrics, and so no alarm, from another', async () => {
  const { metrics, page } = open();
  const soon = { notBefore: instant(START), notAfter: instant(START + 1) };
  const leaves = Array.from({ length: 3_000 }, (_, index) => ({ leaf: `evil/leaf-${index}`, valid: soon }));
  for (let index = 0; index < 1_200; index++)
    metrics.on(rested(`evil/ca-${index}`, index === 0 ? { leaves } : {}));
  const own = { leaf: 'shop/web', valid: { ...soon, notAfter: instant(START + 9_000) } };
  metrics.on(rested('shop/mesh', { leaves: [own] }));
  const lines = await page();
  expect(about(lines, 'handover_blocked_consumers')).toHaveLength(1_000);
  expect(about(lines, 'handover_blocked_consumers').join()).toContain('authority="shop/mesh"');
  expect(about(lines, 'handover_leaf_expiry_timestamp_seconds').join()).toContain('leaf="shop/web"');
  // The others stay as they are: none takes the place of another at each pass.
  metrics.on(rested('evil/ca-1199'));
  expect((await page()).length).toBe(lines.length);
});

test('/metrics has the end of each CA that stays trusted without its key, and for how many workloads, until it is dropped', async () => {
  const { metrics, page } = open();
  const until = instant(START + 3_000);
  metrics.on(
    rested('ns/mesh', {
      retained: [
        { generation: 2, until, workloads: 3 },
        { generation: 1, until, workloads: 0 },
      ],
    }),
  );
  const lines = await page();
  const of = (generation: number): string => `{authority="ns/mesh",generation="${generation}"}`;
  expect(about(lines, 'handover_ca_retained_until_timestamp_seconds')).toEqual(
    [2, 1].map(
      (generation) => `handover_ca_retained_until_timestamp_seconds${of(generation)} ${until / 1000}`,
    ),
  );
  expect(about(lines, 'handover_ca_retained_workloads')).toEqual([
    `handover_ca_retained_workloads${of(2)} 3`,
    `handover_ca_retained_workloads${of(1)} 0`,
  ]);
  metrics.on(rested('ns/mesh'));
  expect(about(await page(), 'handover_ca_retained_workloads')).toEqual([]);
});

test('/metrics drops an authority that is gone, and everything when another replica leads', async () => {
  const { metrics, page, pass } = open();
  metrics.on(rested('ns/old'));
  pass(400_000);
  metrics.on(rested('ns/new'));
  pass(300_000);
  expect(about(await page(), 'handover_blocked_consumers')).toEqual([
    'handover_blocked_consumers{authority="ns/new"} 0',
  ]);
  metrics.on({ kind: 'leading', held: true });
  expect(about(await page(), 'handover_leading')).toEqual(['handover_leading 1']);
  metrics.on({ kind: 'leading', held: false });
  expect(about(await page(), 'handover_leading')).toEqual(['handover_leading 0']);
  expect(about(await page(), 'handover_blocked_consumers')).toEqual([]);
});

test('the start of a phase is dated by the state, else by when the phase was first seen', async () => {
  const { metrics, page, pass } = open();
  const since = async () => about(await page(), 'handover_authority_phase_since_timestamp_seconds')[0];
  metrics.on(rested('ns/mesh'));
  expect(await since()).toMatch(new RegExp(` ${START / 1000 - 5}$`));
  pass(10_000);
  const stable = { phase: 'Stable', phaseSince: undefined } as const;
  metrics.on(rested('ns/mesh', stable));
  pass(10_000);
  metrics.on(rested('ns/mesh', stable));
  expect(await since()).toMatch(new RegExp(` ${START / 1000 + 10}$`));
});

test('values that other programs make up never become a label of a metric', async () => {
  const { metrics, page } = open();
  const failed = (error: unknown) => metrics.on({ kind: 'failed', what: 'x', error, retryAt: undefined });
  failed(new Error('anything at all'));
  failed({ code: 'MADE_UP' });
  failed(new HandoverError('CONFLICT', 'y'));
  metrics.on({ kind: 'repaired', object: 'ns/configmaps/trust/ca.crt', manager: 'kubectl-edit' });
  metrics.on({ kind: 'repaired', object: 'somewhere/else', manager: 'x' });
  const report = { group: '', version: 'v1', subresource: '', namespace: 'ns', name: 'secret-name' };
  metrics.onRequest({ ...report, verb: 'get', resource: 'secrets', status: 200, ms: 12 });
  metrics.onRequest({ ...report, verb: 'get', resource: 'secrets', status: 0, ms: 12 });
  metrics.onReload({ what: 'ca', reason: 'updated', error: undefined });
  metrics.onReload({ what: 'token', reason: 'empty', error: new HandoverError('FILE_EMPTY', 'z') });
  const lines = await page();
  expect(about(lines, 'handover_failures_total')).toEqual([
    'handover_failures_total{code="INTERNAL"} 2',
    'handover_failures_total{code="CONFLICT"} 1',
  ]);
  expect(about(lines, 'handover_drift_repairs_total')).toEqual([
    'handover_drift_repairs_total{kind="configmaps"} 1',
    'handover_drift_repairs_total{kind="other"} 1',
  ]);
  expect(about(lines, 'handover_api_requests_total')).toEqual([
    'handover_api_requests_total{verb="get",resource="secrets",code="200"} 1',
    'handover_api_requests_total{verb="get",resource="secrets",code="none"} 1',
  ]);
  expect(about(lines, 'handover_reloads_total')).toEqual([
    'handover_reloads_total{what="ca",result="done",reason="updated"} 1',
    'handover_reloads_total{what="token",result="failed",reason="empty"} 1',
  ]);
  expect(lines.join()).not.toMatch(/kubectl|secret-name|anything|MADE_UP/);
});
