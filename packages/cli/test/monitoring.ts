import { readFileSync } from 'node:fs';
import { parse } from 'yaml';

const file = (name: string): string =>
  readFileSync(new URL(`../../../deploy/monitoring/${name}`, import.meta.url), 'utf8');

export interface Alert {
  readonly alert: string;
  readonly expr: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
}
export interface Rules {
  readonly groups: readonly { readonly name: string; readonly rules: readonly Alert[] }[];
}
export const prometheusRule = (): {
  readonly apiVersion: string;
  readonly kind: string;
  readonly spec: Rules;
} => parse(file('prometheus-rule.yaml'));

export interface Panel {
  readonly id: number;
  readonly type: string;
  readonly title: string;
  readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number };
  readonly targets?: readonly {
    readonly refId: string;
    readonly expr: string;
    readonly legendFormat: string;
  }[];
}
export interface Dashboard {
  readonly uid: string;
  readonly title: string;
  readonly schemaVersion: number;
  readonly templating: { readonly list: readonly { readonly name: string; readonly query: string }[] };
  readonly panels: readonly Panel[];
}
export const grafanaDashboard = (): Dashboard => JSON.parse(file('grafana-dashboard.json')) as Dashboard;

/** Every query in a file, with Grafana's own variables filled in. */
export const questionsOf = ({ panels }: Dashboard): readonly string[] =>
  panels
    .flatMap(({ targets = [] }) => targets.map(({ expr }) => expr))
    .map((expr) => expr.replaceAll('$__rate_interval', '5m').replaceAll('$authority', '.*'));
