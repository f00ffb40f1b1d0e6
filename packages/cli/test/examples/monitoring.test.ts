import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryFolder } from '@handover/test-api-server';
import { expect, test } from 'vitest';
import { Metrics } from '../../src/metrics/metrics.ts';
import { grafanaDashboard, prometheusRule, questionsOf } from '../monitoring.ts';
import { program } from './programs.ts';

const root = temporaryFolder();
const write = (name: string, text: string): string => {
  writeFileSync(join(root, name), text);
  return join(root, name);
};
/** JSON is YAML. */
const rules = (name: string, content: unknown): string => write(name, JSON.stringify(content));
const promtool = (args: readonly string[], input = ''): string => {
  const { status, stdout, stderr } = spawnSync(program('prometheus'), args, { input, encoding: 'utf8' });
  return status === 0 ? '' : `${stdout}${stderr}`;
};

test('promtool accepts the alerts', () => {
  expect(promtool(['check', 'rules', rules('rules.json', prometheusRule().spec)])).toBe('');
  // It does find a broken rule.
  const broken = rules('broken.json', { groups: [{ name: 'x', rules: [{ alert: 'X', expr: 'sum(' }] }] });
  expect(promtool(['check', 'rules', broken])).toContain('parse error');
});

test('promtool accepts every query of the dashboard', () => {
  const asked = questionsOf(grafanaDashboard()).map((expr, index) => ({ record: `panel:${index}`, expr }));
  expect(asked.length).toBeGreaterThan(20);
  const file = rules('panels.json', { groups: [{ name: 'panels', rules: asked }] });
  expect(promtool(['check', 'rules', file])).toBe('');
});

test('promtool accepts our part of /metrics', async () => {
  const { body } = await new Metrics({ version: '1.2.3', now: Date.now }).page();
  const ours = body
    .split('\n\n')
    .filter((block) => block.startsWith('# HELP handover_'))
    .join('\n\n');
  expect(promtool(['check', 'metrics'], `${ours}\n`)).toBe('');
});

const mesh = 'authority="ns/mesh"';
const DAY = 86_400;
/** Days since the epoch: promtool's clock starts there. */
const ends = (days: number): string => `${days * DAY}x200`;

test.each([
  [
    'a blocked rotation',
    'HandoverRotationBlocked',
    '2h',
    [`handover_blocked_consumers{${mesh}}`, '3x200'],
    { authority: 'ns/mesh' },
  ],
  ['no leader', 'HandoverNoLeader', '10m', ['handover_leading', '0x200'], {}],
  ['no metric from any process', 'HandoverNoLeader', '10m', ['something_else', '0x200'], {}],
  [
    'objects that cannot be written',
    'HandoverObstructed',
    '20m',
    [`handover_obstacles{${mesh}}`, '1x200'],
    { authority: 'ns/mesh' },
  ],
  [
    'a hook that fails',
    'HandoverHookFails',
    '15m',
    ['handover_hook_failing{hook="Leaf ns/web"}', '1x200'],
    { hook: 'Leaf ns/web' },
  ],
  [
    'leaves without a certificate',
    'HandoverLeafMissing',
    '20m',
    [`handover_leaves_missing{${mesh}}`, '1x200'],
    { authority: 'ns/mesh' },
  ],
] as const)('%s raises an alert', (_what, alert, at, [series, values], labels) => {
  expect(fired(alert, at, [[series, values]], labels)).toBe('');
  expect(fired(alert, '1m', [[series, values]], labels)).toContain('FAILED');
});

test.each([
  ['a CA', 'handover_ca', 'HandoverCaExpires', `{${mesh}, generation="1", role="current"}`],
  ['a leaf', 'handover_leaf', 'HandoverLeafExpires', `{${mesh}, leaf="ns/web"}`],
] as const)(
  '%s with 2% of its lifetime left is an alert, with half of it left is not',
  (_what, metric, alert, labels) => {
    const given = (days: number): readonly (readonly [string, string])[] => [
      [`${metric}_expiry_timestamp_seconds${labels}`, ends(days)],
      [`${metric}_not_before_timestamp_seconds${labels}`, ends(days - 100)],
    ];
    const found = Object.fromEntries(
      [...labels.matchAll(/(\w+)="([^"]*)"/g)].map(([, name, value]) => [name, value]),
    );
    expect(fired(alert, '1h', given(2), found)).toBe('');
    expect(fired(alert, '1h', given(50), found)).toContain('FAILED');
  },
);

/** The errors of `promtool test rules` for the claim that with these series the alert fires by then. Ignores annotations. */
function fired(
  alert: string,
  at: string,
  series: readonly (readonly [string, string])[],
  labels: Readonly<Record<string, string | undefined>>,
): string {
  const known = prometheusRule()
    .spec.groups.flatMap((group) => group.rules)
    .filter((rule) => rule.alert === alert)
    .map(({ annotations: _, ...rule }) => rule);
  const severity = known[0]?.labels.severity;
  const file = rules(`${alert}.json`, { groups: [{ name: 'one', rules: known }] });
  const run = rules(`${alert}-test.json`, {
    rule_files: [file],
    evaluation_interval: '1m',
    tests: [
      {
        interval: '1m',
        input_series: series.map(([name, values]) => ({ series: name, values })),
        alert_rule_test: [
          { eval_time: at, alertname: alert, exp_alerts: [{ exp_labels: { ...labels, severity } }] },
        ],
      },
    ],
  });
  return promtool(['test', 'rules', run]);
}
