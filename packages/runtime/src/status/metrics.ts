import { LEAF_METRIC, TRUST_METRIC } from '@handover/material';
import { mustBeSources } from '../arguments.ts';
import { clockIn } from '../options.ts';
import { withDefaultTrust } from './default-trust.ts';
import { type SourceStatus, type StatusSource, shownOf } from './status.ts';

const escaped = (text: string): string =>
  text.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n');

const series = (name: string, labels: Readonly<Record<string, string>>): string =>
  `${name}{${Object.entries(labels)
    .map(([label, text]) => `${label}="${escaped(text)}"`)
    .join(',')}} 1\n`;

/** Sources of the same file may hold different versions of it: each has a name of its own. */
const namesOf = (statuses: readonly SourceStatus[]): readonly string[] =>
  statuses.map(({ path }, index) => {
    const before = statuses.slice(0, index).filter((other) => other.path === path).length;
    return before === 0 ? path : `${path} ${before + 1}`;
  });

/**
 * What {@link serveStatus} shows, as metrics: for a program that has a page of metrics already. The function that it returns gives the lines of
 * the moment, in the text format of Prometheus; append them to the page. They speak for this process alone. They are empty when a server of
 * the process does not say what it uses: then the page is no evidence.
 *
 * @example
 * ```ts
 * import { openTrust, statusMetrics } from '@handover/runtime';
 *
 * const trust = await openTrust('/etc/mesh/ca.crt');
 * const metrics = statusMetrics([trust]);
 * console.log(metrics().includes('tls_trust_anchor_info{source="/etc/mesh/ca.crt",sha256="')); // true
 * ```
 */
export function statusMetrics(sources: readonly StatusSource[]): () => string {
  mustBeSources(sources, 'statusMetrics');
  const shown = withDefaultTrust(shownOf(sources), clockIn({}));
  return () => {
    const statuses = shown.statuses() ?? [];
    const names = namesOf(statuses);
    const [anchors, leaves] = [
      statuses.flatMap(({ anchors = [] }, index) =>
        anchors.map((sha256) => series(TRUST_METRIC, { source: names[index] ?? '', sha256 })),
      ),
      statuses.flatMap(({ leaf }, index) => {
        if (leaf === undefined) return [];
        const { fingerprint: sha256, issuerKeyId, notAfter } = leaf;
        return series(LEAF_METRIC, {
          source: names[index] ?? '',
          sha256,
          ...(issuerKeyId === undefined ? {} : { issuer_key_id: issuerKeyId }),
          not_after: notAfter,
        });
      }),
    ];
    const family = (name: string, help: string, lines: readonly string[]): string =>
      lines.length === 0 ? '' : `# HELP ${name} ${help}\n# TYPE ${name} gauge\n${lines.join('')}`;
    return `${family(TRUST_METRIC, 'CA certificates in use.', anchors)}${family(LEAF_METRIC, 'Leaf certificates in use.', leaves)}`;
  };
}
