import { expect, test } from 'vitest';
import { grafanaDashboard, prometheusRule, questionsOf } from '../../test/monitoring.ts';
import { Metrics } from './metrics.ts';
import { METRICS } from './names.ts';

const alerts = prometheusRule().spec.groups.flatMap(({ rules }) => rules);
const asked = [...alerts.map(({ expr }) => expr), ...questionsOf(grafanaDashboard())];

/** Names of metrics in a question: words that no bracket, quote or equals sign makes a label or a function. */
const namesIn = (text: string): readonly string[] =>
  text.replace(/"[^"]*"/g, '""').match(/\b(?:handover|process|nodejs)_[a-z0-9_]+\b/g) ?? [];

test('/metrics has every metric that an alert or a panel asks for', async () => {
  const { body } = await new Metrics({ version: '1.2.3', now: Date.now }).page();
  const served = new Set([...body.matchAll(/^# TYPE (\S+)/gm)].map(([, name]) => name));
  const wanted = new Set(asked.flatMap(namesIn));
  expect(wanted.size).toBeGreaterThan(15);
  const unknown = [...wanted].filter(
    (name) => !served.has(name) && !served.has(name.replace(/_(bucket|sum|count)$/, '')),
  );
  expect(unknown).toEqual([]);
});

test('every metric of Handover is used by a panel or an alert', () => {
  const wanted = asked.join(' ');
  expect(Object.values(METRICS).filter(([name]) => !wanted.includes(name))).toEqual([]);
});

test('every label that an alert or a panel asks for is a label of some metric', () => {
  const ours = new Set<string>(Object.values(METRICS).flatMap(([, , labels]) => labels));
  // What Prometheus adds, and what a histogram has.
  for (const label of ['instance', 'pod', 'le']) ours.add(label);
  const legends = grafanaDashboard().panels.flatMap(({ targets = [] }) =>
    targets.flatMap(({ legendFormat }) => [...legendFormat.matchAll(/\{\{(\w+)\}\}/g)]),
  );
  const texts = alerts.flatMap(({ annotations }) =>
    Object.values(annotations).flatMap((text) => [...text.matchAll(/\$labels\.(\w+)/g)]),
  );
  const groupings = asked
    .flatMap((expr) => [...expr.matchAll(/\b(?:by|on) \(([^)]*)\)/g)])
    .flatMap(([, list = '']) => list.split(', '));
  const selectors = asked.flatMap((expr) => [...expr.matchAll(/[{ ](\w+)(?:=~|!=|!~|=)"/g)]);
  const names = [...legends, ...texts, ...selectors].map(([, name]) => name ?? '').concat(groupings);
  expect(names.length).toBeGreaterThan(30);
  expect(names.filter((name) => !ours.has(name))).toEqual([]);
});

test('the PrometheusRule has alerts that say what happened and what to do', () => {
  expect(prometheusRule()).toMatchObject({ apiVersion: 'monitoring.coreos.com/v1', kind: 'PrometheusRule' });
  expect(new Set(alerts.map(({ alert }) => alert)).size).toBe(alerts.length);
  for (const { alert, labels, annotations } of alerts) {
    expect(alert).toMatch(/^Handover[A-Z][A-Za-z]+$/);
    expect(['warning', 'critical']).toContain(labels.severity);
    expect(Object.keys(annotations)).toEqual(['summary', 'description']);
  }
});

test('panels of the Grafana dashboard have ids and places of their own', () => {
  const { panels, uid, schemaVersion } = grafanaDashboard();
  expect({ uid, schemaVersion }).toEqual({ uid: 'handover', schemaVersion: 39 });
  expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length);
  const taken = new Set<string>();
  for (const { title, gridPos } of panels) {
    expect(gridPos.x + gridPos.w, title).toBeLessThanOrEqual(24);
    for (let x = gridPos.x; x < gridPos.x + gridPos.w; x++)
      for (let y = gridPos.y; y < gridPos.y + gridPos.h; y++) {
        expect(taken.has(`${x} ${y}`), title).toBe(false);
        taken.add(`${x} ${y}`);
      }
  }
});
