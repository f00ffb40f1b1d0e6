import { badRequest } from './api-failure.ts';
import type { JsonObject } from './json.ts';

type Matches = (labels: Readonly<Record<string, string>>) => boolean;

const REQUIREMENT =
  /^\s*(?:(!)\s*([\w./-]+)|([\w./-]+)(?:\s*(==|=|!=)\s*([\w.-]*)|\s+(in|notin)\s+\(([^)]*)\))?)\s*$/;

function requirement(text: string): Matches {
  const found = REQUIREMENT.exec(text);
  if (found === null) throw badRequest(`unable to parse requirement: ${text}`);
  const [, , absent, name = '', operator, value = '', set, list = ''] = found;
  if (absent !== undefined) return (labels) => labels[absent] === undefined;
  if (set !== undefined) {
    const values = list.split(',').map((one) => one.trim());
    return (labels) => {
      const within = labels[name] !== undefined && values.includes(labels[name]);
      return set === 'in' ? within : !within;
    };
  }
  if (operator === undefined) return (labels) => labels[name] !== undefined;
  return (labels) => (operator === '!=' ? labels[name] !== value : labels[name] === value);
}

/** Commas inside parentheses belong to a set. */
const split = (text: string): string[] => text.split(/,(?![^(]*\))/).filter((part) => part.trim() !== '');

export function labelSelector(text: string): Matches {
  const all = split(text).map(requirement);
  return (labels) => all.every((one) => one(labels));
}

export type Field = (object: JsonObject) => string;

export function fieldSelector(text: string, fields: Readonly<Record<string, Field>>) {
  const all = split(text).map((part) => {
    const [, path = '', operator = '', value = ''] = /^\s*([\w.]+)\s*(==|=|!=)\s*(.*?)\s*$/.exec(part) ?? [];
    const field = fields[path];
    if (field === undefined) throw badRequest(`field label not supported: ${path || part}`);
    return (object: JsonObject) => (field(object) === value) === (operator !== '!=');
  });
  return (object: JsonObject) => all.every((one) => one(object));
}
