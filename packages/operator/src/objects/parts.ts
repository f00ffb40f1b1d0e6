import { createHash } from 'node:crypto';
import { filesUnder, readableCertificates } from '@handover/engine';
import type { KubeObject } from '@handover/kube';
import { isMap } from '@handover/material';
import type { Plural } from './place.ts';

/** Data of an object as the engine sees it: file names and texts. */
export type Texts = Readonly<Record<string, string>>;

/** How one kind of API object carries what we put into it. */
export interface Shape {
  /** Every text that an object of this kind holds and that could be ours, by a name of its own. */
  texts(object: KubeObject): Texts;
  /** The texts that `part` is about; undefined: the object has no such part. */
  read(texts: Texts, part: string): Texts | undefined;
  /** Names, in the object, of what `part` covers. */
  covers(texts: Texts, part: string): readonly string[];
  /** What the engine gives for `part`, by the names the object has for it. */
  spread(texts: Texts, part: string, data: Texts): Texts;
  /** The fields, and nothing but them, that hold `texts`. */
  body(texts: Texts): Readonly<Record<string, unknown>>;
}

const at = (value: unknown, ...path: readonly string[]): unknown =>
  path.reduce<unknown>((inner, name) => (isMap(inner) ? inner[name] : undefined), value);
const decoded = (value: unknown): string =>
  typeof value === 'string' ? Buffer.from(value, 'base64').toString('utf8') : '';
const encoded = (text: string): string => Buffer.from(text, 'utf8').toString('base64');
const mapText = (texts: Texts, change: (text: string) => string): Texts =>
  Object.fromEntries(Object.entries(texts).map(([name, text]) => [name, change(text)]));

const LEAF_FILES = ['tls.crt', 'tls.key', 'ca.crt'] as const;

/** A Secret or a ConfigMap: part '' is a Leaf's Secret whole, any other a key, or the first of several that go together. */
const dataShape = (decode: (value: unknown) => string, encode: (text: string) => string): Shape => {
  const covers = (_texts: Texts, part: string): readonly string[] =>
    part === '' ? LEAF_FILES : filesUnder(part);
  return {
    texts: ({ data }) =>
      Object.fromEntries(
        Object.entries(isMap(data) ? data : {}).map(([name, value]) => [name, decode(value)]),
      ),
    read: (texts, part) =>
      Object.fromEntries(
        covers(texts, part).flatMap((name) => (texts[name] === undefined ? [] : [[name, texts[name]]])),
      ),
    covers,
    spread: (_texts, _part, data) => data,
    body: (texts) => ({ data: mapText(texts, encode) }),
  };
};

/** An object with one bundle in one field. */
const fieldShape = (
  path: readonly string[],
  codec: { decode: (value: unknown) => string; encode: (text: string) => string },
  around: Readonly<Record<string, unknown>> = {},
): Shape => ({
  texts: (object) => {
    const value = at(object, ...path);
    return value === undefined || value === null ? {} : { 'ca.crt': codec.decode(value) };
  },
  read: (texts) => texts,
  covers: () => ['ca.crt'],
  spread: (_texts, _part, data) => data,
  body: (texts) => nested(path, codec.encode(texts['ca.crt'] ?? ''), around),
});

const nested = (
  path: readonly string[],
  value: string,
  around: Readonly<Record<string, unknown>>,
): Readonly<Record<string, unknown>> => {
  const [first = '', ...rest] = path;
  const beside = isMap(around[first]) ? around[first] : {};
  return { ...around, [first]: rest.length === 0 ? value : nested(rest, value, beside) };
};

/**
 * Webhooks, each with a bundle of its own, which as one object hold what all of them hold. Where they differ, a second text
 * makes sure that they are not taken for what was written.
 */
const webhookShape: Shape = {
  texts: ({ webhooks }) =>
    Object.fromEntries(
      (Array.isArray(webhooks) ? webhooks : []).flatMap((webhook: unknown) => {
        const name = at(webhook, 'name');
        return typeof name === 'string' ? [[name, decoded(at(webhook, 'clientConfig', 'caBundle'))]] : [];
      }),
    ),
  covers: (texts, part) => {
    const all = Object.keys(texts);
    return part === '' ? all : part.split(',').filter((name) => all.includes(name));
  },
  read: (texts, part) => {
    const held = webhookShape.covers(texts, part).map((name) => texts[name] ?? '');
    const [first] = held;
    if (first === undefined) return undefined;
    const name = part === '' ? 'ca.crt' : part;
    if (held.every((text) => text === first)) return { [name]: first };
    const others = held
      .slice(1)
      .map((text) => new Set(readableCertificates(text).map(({ fingerprint }) => fingerprint)));
    const common = readableCertificates(first).filter(({ fingerprint }) =>
      others.every((set) => set.has(fingerprint)),
    );
    return { [name]: common.map(({ pem }) => pem).join(''), differ: held.join('\n') };
  },
  spread: (texts, part, data) => {
    const bundle = data[part === '' ? 'ca.crt' : part] ?? '';
    return Object.fromEntries(webhookShape.covers(texts, part).map((name) => [name, bundle]));
  },
  body: (texts) => ({
    webhooks: Object.entries(texts).map(([name, text]) => ({
      name,
      clientConfig: { caBundle: encoded(text) },
    })),
  }),
};

const PLAIN = {
  decode: (value: unknown) => (typeof value === 'string' ? value : ''),
  encode: (text: string) => text,
};
const BASE64 = { decode: decoded, encode: encoded };

export const SHAPES: Readonly<Record<Plural, Shape>> = {
  secrets: dataShape(decoded, encoded),
  configmaps: dataShape(PLAIN.decode, PLAIN.encode),
  clustertrustbundles: fieldShape(['spec', 'trustBundle'], PLAIN),
  apiservices: fieldShape(['spec', 'caBundle'], BASE64),
  validatingwebhookconfigurations: webhookShape,
  mutatingwebhookconfigurations: webhookShape,
  customresourcedefinitions: fieldShape(
    ['spec', 'conversion', 'webhook', 'clientConfig', 'caBundle'],
    BASE64,
    {
      spec: { conversion: { strategy: 'Webhook' } },
    },
  ),
};

/** What is shorter is kept as it is. */
const SHORT = 1_024;

/**
 * The texts, with a digest in place of each that nobody reads: one that is not of a part which is on record, no file of a Leaf, and
 * without a certificate. Others may keep a megabyte beside what is ours.
 */
export const withDigests = (plural: Plural, texts: Texts, parts: readonly string[]): Texts => {
  if (plural !== 'secrets' && plural !== 'configmaps') return texts;
  const ours = new Set([...LEAF_FILES, ...parts.flatMap((part) => SHAPES[plural].covers(texts, part))]);
  return Object.fromEntries(
    Object.entries(texts).map(([name, text]) => {
      const read = ours.has(name) || text.length <= SHORT || text.includes('-----BEGIN ');
      return [name, read ? text : `sha256:${createHash('sha256').update(text).digest('hex')}`];
    }),
  );
};

/** Whether the API server reads a bundle out of this object at all. */
export const hasField = (plural: Plural, object: KubeObject): boolean => {
  if (plural === 'customresourcedefinitions')
    return at(object, 'spec', 'conversion', 'strategy') === 'Webhook';
  // Served by the API server itself: caBundle is not allowed there.
  if (plural === 'apiservices')
    return at(object, 'spec', 'service') !== undefined && at(object, 'spec', 'service') !== null;
  return true;
};
