import { Metrics } from '../metrics/metrics.ts';
import { METRICS } from '../metrics/names.ts';
import { code, page, table } from './markdown.ts';

/** Types from /metrics itself. */
const typesOf = async (): Promise<ReadonlyMap<string, string>> => {
  const { body } = await new Metrics({ version: '0', now: () => 0 }).page();
  return new Map(
    [...body.matchAll(/^# TYPE (\S+) (\S+)$/gm)].map(([, name = '', type = '']) => [name, type]),
  );
};

export const metricsPage = async (): Promise<string> => {
  const types = await typesOf();
  return page(
    'Metrics',
    'Served by `handover operator` on `--health-address`, and by `handover run --metrics-address`. Only the leader shows authorities. Times are seconds since 1970; resources are `namespace/name`. There are also `process_*` and `nodejs_*`. How to collect them: [monitoring](../recipes/monitoring.md).',
    table(
      ['metric', 'type', 'labels', 'meaning'],
      Object.values(METRICS).map(([name, help, labels]) => [
        code(name),
        types.get(name) ?? 'not served',
        labels.map(code).join(', '),
        help,
      ]),
    ),
  );
};
