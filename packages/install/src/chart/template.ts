import { isMap } from '@handover/material';
import { Document, isScalar, isMap as isYamlMap, type Scalar, visit } from 'yaml';
import type { Manifest, Page } from '../install.ts';
import { conditionOf, TOKENS, type Variant } from './variants.ts';

/** A value that is the same in every variant but for items of lists and fields of maps, each of which may be there or not. */
type Merged = { readonly kind: 'plain'; readonly value: unknown } | MergedMap | MergedList;
interface MergedMap {
  readonly kind: 'map';
  readonly fields: readonly {
    readonly key: string;
    readonly value: Merged;
    readonly condition: string | undefined;
  }[];
}
interface MergedList {
  readonly kind: 'list';
  readonly items: readonly { readonly value: Merged; readonly condition: string | undefined }[];
}

type Values = ReadonlyMap<Variant, unknown>;

const text = (value: unknown): string => JSON.stringify(value) ?? 'undefined';
const mapped = (values: Values, change: (value: unknown) => unknown): Values =>
  new Map([...values].map(([variant, value]) => [variant, change(value)]));

/** Lists laid over each other: an order that each of them keeps. */
const orderOf = (lists: readonly (readonly string[])[], where: string): readonly string[] => {
  const left = lists.map((list) => [...list]).filter((list) => list.length > 0);
  const order: string[] = [];
  while (left.length > 0) {
    const first = left
      .map(([head]) => head)
      .find((head) => left.every((list) => list[0] === head || !list.includes(head ?? '')));
    if (first === undefined)
      throw new Error(`${where} comes in more than one order, which a chart cannot say`);
    order.push(first);
    for (const list of left) if (list[0] === first) list.shift();
    for (let at = left.length - 1; at >= 0; at--) if (left[at]?.length === 0) left.splice(at, 1);
  }
  return order;
};

const mergedList = (values: Values, where: string): MergedList => {
  const lists = new Map([...values].map(([variant, value]) => [variant, (value as unknown[]).map(text)]));
  const order = orderOf([...lists.values()], where);
  return {
    kind: 'list',
    items: order.map((item) => {
      const having = new Set(
        [...lists].filter(([, list]) => list.includes(item)).map(([variant]) => variant),
      );
      return {
        value: { kind: 'plain', value: JSON.parse(item) as unknown },
        condition: conditionOf(having, [...values.keys()], `${item} in ${where}`),
      };
    }),
  };
};

/** Names of the items, where each has one: containers. */
const namesIn = (value: unknown): string | undefined =>
  Array.isArray(value) && value.every((item) => isMap(item) && typeof item.name === 'string')
    ? text(value.map(({ name }: Record<string, unknown>) => name))
    : undefined;

const itemByItem = (values: Values, count: number, where: string): MergedList => ({
  kind: 'list',
  items: Array.from({ length: count }, (_, at) => ({
    value: merge(
      mapped(values, (value) => (value as unknown[])[at]),
      `${where}[${at}]`,
    ),
    condition: undefined,
  })),
});

/** What these values have in common, and when there is what; throws when they differ in any other way. */
export const merge = (values: Values, where: string): Merged => {
  const [first, ...others] = values.values();
  if (others.every((other) => text(other) === text(first))) return { kind: 'plain', value: first };
  const all = [first, ...others];
  if (Array.isArray(first) && all.every((value) => Array.isArray(value))) {
    const names = namesIn(first);
    return names !== undefined && all.every((value) => namesIn(value) === names)
      ? itemByItem(values, first.length, where)
      : mergedList(values, where);
  }
  if (!all.every(isMap)) throw new Error(`${where} differs between installations, which a chart cannot say`);
  return mergedMap(values as ReadonlyMap<Variant, Readonly<Record<string, unknown>>>, where);
};

const mergedMap = (
  values: ReadonlyMap<Variant, Readonly<Record<string, unknown>>>,
  where: string,
): MergedMap => ({
  kind: 'map',
  fields: orderOf([...values.values()].map(Object.keys), where).map((key) => {
    const having = new Map([...values].filter(([, value]) => key in value));
    return {
      key,
      value: merge(new Map([...having].map(([variant, value]) => [variant, value[key]])), `${where}.${key}`),
      condition: conditionOf(new Set(having.keys()), [...values.keys()], `${where}.${key}`),
    };
  }),
});

/** A document of the chart: one object of many installations. */
export interface Template {
  readonly kind: string;
  readonly text: string;
}

type Part = Readonly<Record<string, unknown>>;

const WHY = 'why-token';
const IF = 'if-token ';
const END = 'end-token';
/** A field of a map needs a key of its own around it. */
const FIELD = 'field-token';
const BARE_ITEM = / *- (if-token (.*)|end-token)\n/g;
const BARE_FIELD = / *(?:if-token (.*)|end-token) field-token \S+: null\n/g;

/** Arguments that hold a list are one text in each installation, and one expression in the chart. */
const withoutLists = (args: readonly unknown[]): readonly unknown[] =>
  args.map((argument, at) => {
    if (args[at - 1] === '--namespaced') return TOKENS.namespacedArgument;
    return args[at - 1] === '--compat' ? TOKENS.compatArgument : argument;
  });

const withTokens = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(withTokens);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => [
      key,
      key === 'args' && Array.isArray(inner) ? withoutLists(inner) : withTokens(inner),
    ]),
  );
};

/** The object, each of its rules with its reason inside. */
const objectOf = ({ object, ruleWhys = [] }: Page): Part => {
  const told = withTokens(object) as Part;
  if (!Array.isArray(told.rules)) return told;
  return { ...told, rules: told.rules.map((rule: Part, at) => ({ [WHY]: ruleWhys[at] ?? '', ...rule })) };
};

const laidOut = (merged: Merged): unknown => {
  switch (merged.kind) {
    case 'plain':
      return merged.value;
    case 'map':
      return Object.fromEntries(
        merged.fields.flatMap(({ key, value, condition }): readonly (readonly [string, unknown])[] =>
          condition === undefined
            ? [[key, laidOut(value)]]
            : [
                [`${IF}${condition} ${FIELD} ${key}`, null],
                [key, laidOut(value)],
                [`${END} ${FIELD} ${key}`, null],
              ],
        ),
      );
    case 'list':
      return merged.items.flatMap(({ value, condition }, at) => [
        ...(condition === undefined || condition === merged.items[at - 1]?.condition
          ? []
          : [`${IF}${condition}`]),
        laidOut(value),
        ...(condition === undefined || condition === merged.items[at + 1]?.condition ? [] : [END]),
      ]);
    default:
      return merged satisfies never;
  }
};

const hasToken = (value: unknown): boolean =>
  typeof value === 'string' && Object.values(TOKENS).some((token) => value.includes(token));

/** In double quotes, whatever is put there is a string: a namespace may be called 1e3, or null. */
const quoted = (scalar: Scalar): void => {
  if (hasToken(scalar.value)) scalar.type = 'QUOTE_DOUBLE';
  if (typeof scalar.value === 'string' && scalar.value.startsWith(IF)) scalar.type = 'PLAIN';
};

const yamlOf = (object: unknown, why: string): string => {
  const document = new Document(object, { aliasDuplicateObjects: false, compat: 'yaml-1.1' });
  visit(document, {
    Scalar: (_, scalar) => quoted(scalar),
    Map: (_, map) => {
      const reason = map.get(WHY, true);
      if (!isScalar(reason)) return;
      map.delete(WHY);
      map.commentBefore = ` ${reason.value}`;
    },
  });
  if (isYamlMap(document.contents)) document.contents.commentBefore = ` ${why}`;
  const text = document.toString({ lineWidth: 0 });
  if (text.includes('{{')) throw new Error(`a chart would take "{{" in ${why} for its own`);
  return text;
};

const values = (text: string): string =>
  text
    .replaceAll(BARE_FIELD, (_, condition?: string) =>
      condition === undefined ? '{{- end }}\n' : `{{- if ${condition} }}\n`,
    )
    .replaceAll(BARE_ITEM, (_, bare: string, condition?: string) =>
      bare === END ? '{{- end }}\n' : `{{- if ${condition} }}\n`,
    )
    .replaceAll(
      new RegExp(`^( *)- "${TOKENS.signer}"\\n`, 'gm'),
      '{{- range $.Values.signers }}\n$1- {{ . | quote }}\n{{- end }}\n',
    )
    .replaceAll(`handover-${TOKENS.own}`, '{{ include "handover.prefix" $ }}')
    .replaceAll(TOKENS.own, '{{ $.Release.Namespace }}')
    .replaceAll(TOKENS.watched, '{{ . }}')
    .replaceAll(TOKENS.namespacedArgument, '{{ join "," $watched }}')
    .replaceAll(TOKENS.compatArgument, '{{ join "," $.Values.compat }}')
    .replaceAll(TOKENS.trustNamespace, '{{ $.Values.trustNamespace }}')
    .replaceAll(TOKENS.cainjectorNamespace, '{{ $.Values.cainjectorNamespace }}')
    .replaceAll(TOKENS.defaultCas, '{{ $.Values.defaultCas }}')
    .replaceAll(TOKENS.image, '{{ $.Values.image | default (printf "handover:%s" $.Chart.AppVersion) }}');

const keyOf = ({ kind, metadata }: Manifest): string => {
  const { name, namespace } = metadata as { readonly name: string; readonly namespace?: string };
  return `${kind} ${namespace ?? ''} ${name}`;
};

/** All objects of all variants, each once, under the condition that it is there at all. */
export const templates = (all: readonly Variant[]): readonly Template[] => {
  const found = new Map<string, Map<Variant, Page>>();
  for (const variant of all) {
    for (const page of variant.pages) {
      const key = keyOf(page.object);
      found.set(key, (found.get(key) ?? new Map<Variant, Page>()).set(variant, page));
    }
  }
  return [...found].map(([key, pages]) => {
    const [one] = pages.values();
    const merged = merge(new Map([...pages].map(([variant, page]) => [variant, objectOf(page)])), key);
    const body = values(yamlOf(laidOut(merged), one?.why ?? ''));
    const watched = key.includes(TOKENS.watched);
    // Those of watched namespaces come once for each; its own is apart, because its Role holds more.
    const condition = watched ? undefined : conditionOf(new Set(pages.keys()), all, key);
    const opening = watched
      ? '{{- range without $watched $.Release.Namespace }}\n'
      : condition === undefined
        ? ''
        : `{{- if ${condition} }}\n`;
    return {
      kind: String(one?.object.kind),
      text: `${opening}---\n${body}${opening === '' ? '' : '{{- end }}\n'}`,
    };
  });
};
