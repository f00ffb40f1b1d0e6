import { isMap } from '@handover/material';
import { conditionOf, type Variant } from './variants.ts';

/** A value that is the same in every variant but for items of lists and fields of maps, each of which may be there or not. */
export type Merged = { readonly kind: 'plain'; readonly value: unknown } | MergedMap | MergedList;
export interface MergedMap {
  readonly kind: 'map';
  readonly fields: readonly {
    readonly key: string;
    readonly value: Merged;
    readonly condition: string | undefined;
  }[];
}
export interface MergedList {
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
