import { crds } from '@handover/install';
import { code, page, table } from './markdown.ts';

interface Schema {
  readonly type: string;
  readonly description?: string;
  readonly enum?: readonly unknown[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly items?: Schema;
  readonly additionalProperties?: Schema;
}

const typeOf = (schema: Schema): string => {
  if (schema.enum !== undefined) return schema.enum.map((value) => code(String(value))).join(', ');
  if (schema.type === 'array') return `list of ${schema.items === undefined ? 'any' : typeOf(schema.items)}`;
  if (schema.additionalProperties !== undefined) return `map of ${typeOf(schema.additionalProperties)}`;
  return schema.type;
};

type Row = readonly [field: string, type: string, preset: string, meaning: string];

/** The description ends with the default, for `kubectl explain`. */
const DEFAULT = /\s*Default:? (.+?)\.?$/;

const rowsOf = (schema: Schema, path: string): readonly Row[] =>
  Object.entries(schema.properties ?? {}).flatMap(([name, child]): readonly Row[] => {
    const place = path === '' ? name : `${path}.${name}`;
    const { description = '' } = child;
    if (description === '') throw new TypeError(`${place} has no description`);
    const preset = DEFAULT.exec(description)?.[1];
    const must = schema.required?.includes(name) === true;
    const row: Row = [
      code(place),
      typeOf(child),
      preset === undefined ? (must ? 'required' : '') : code(preset),
      preset === undefined ? description : description.replace(DEFAULT, ''),
    ];
    const inner = child.items ?? child.additionalProperties;
    return [row, ...rowsOf(child, place), ...(inner === undefined ? [] : rowsOf(inner, `${place}[]`))];
  });

const HEAD = ['field', 'type', 'default', 'meaning'] as const;

export const resourcesPage = (): string =>
  page(
    'Resources',
    'The same YAML in a directory and in a cluster, `apiVersion: handover.dev/v1alpha1`. Durations are written `30s`, `10m`, `36h`, `90d`, `18mo`, `5y`; a month has 30 days, a year 365. In a cluster `kubectl explain authority.spec` shows the same.',
    ...crds().flatMap(({ spec: { names, scope, versions } }) => {
      const schema = versions[0]?.schema.openAPIV3Schema as unknown as Schema;
      const columns = versions[0]?.additionalPrinterColumns ?? [];
      return [
        `## ${names.kind}`,
        `${schema.description} ${scope === 'Cluster' ? 'Cluster-scoped' : 'Namespaced'}; \`kubectl get ${names.shortNames[0]}\`.`,
        table(HEAD, rowsOf({ type: 'object', properties: { spec: schema.properties?.spec as Schema } }, '')),
        `### Status of ${names.kind}`,
        table(
          ['field', 'type', 'meaning'],
          rowsOf({ type: 'object', properties: { status: schema.properties?.status as Schema } }, '').map(
            ([field, type, , meaning]) => [field, type, meaning],
          ),
        ),
        `\`kubectl get\` shows: ${columns.map(({ name, priority }) => `${name}${priority === undefined ? '' : ' (wide)'}`).join(', ')}.`,
      ];
    }),
  );
