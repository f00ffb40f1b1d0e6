import { isUtf8 } from 'node:buffer';
import { hash } from 'node:crypto';
import { type FileData, filesUnder, pemFile, readableCertificates } from '@handover/engine';
import type { KubeObject } from '@handover/kube';
import { bufferOf, bytesOf, isMap, type Json, recordOf, sameBytes, textOf } from '@handover/material';
import type { Plural } from './place.ts';
import type { RecordEntries } from './record.ts';

/** How one kind of API object carries the files that we put into it. */
export interface Shape {
  /** Every file that an object of this kind holds and that could be ours, by a name of its own. */
  data(object: KubeObject): FileData;
  /** The files that `part` is about; undefined: the object has no such part. `outputs`: names of its files in other formats. */
  read(data: FileData, part: string, outputs?: readonly string[]): FileData | undefined;
  /** Names, in the object, of what `part` covers. */
  covers(data: FileData, part: string, outputs?: readonly string[]): readonly string[];
  /** What the engine gives for `part`, by the names the object has for it. */
  spread(data: FileData, part: string, files: FileData): FileData;
  /** The fields, and nothing but them, that hold `data`. */
  body(data: FileData): Json;
}

interface Codec {
  decode(value: unknown): Uint8Array;
  encode(bytes: Uint8Array): string;
}

const BASE64: Codec = {
  // A copy: a small Buffer is a view of a pool, and keeps all of the pool in memory.
  decode: (value) => new Uint8Array(Buffer.from(typeof value === 'string' ? value : '', 'base64')),
  encode: (bytes) => bufferOf(bytes).toString('base64'),
};
const TEXT: Codec = { decode: (value) => bytesOf(typeof value === 'string' ? value : ''), encode: textOf };

const at = (value: unknown, ...path: readonly string[]): unknown =>
  path.reduce<unknown>((inner, name) => (isMap(inner) ? inner[name] : undefined), value);
const decoded = (field: unknown, { decode }: Codec): FileData =>
  recordOf(Object.entries(isMap(field) ? field : {}).map(([name, value]) => [name, decode(value)]));
const encoded = (files: readonly (readonly [string, Uint8Array])[], { encode }: Codec): Json =>
  Object.fromEntries(files.map(([name, bytes]) => [name, encode(bytes)]));

const LEAF_FILES = ['tls.crt', 'tls.key', 'ca.crt'] as const;

/** A Secret or a ConfigMap: part '' is a Leaf's Secret whole, any other a key, or the first of several that go together. */
const dataShape = ({ data, body }: Pick<Shape, 'data' | 'body'>): Shape => {
  const covers: Shape['covers'] = (_data, part, outputs = []) => [
    ...(part === '' ? LEAF_FILES : filesUnder(part)),
    ...outputs,
  ];
  return {
    data,
    read: (held, part, outputs) =>
      recordOf(
        // A record may name anything, `constructor` too.
        covers(held, part, outputs).flatMap((name) =>
          Object.hasOwn(held, name) ? [[name, held[name] ?? new Uint8Array()] as const] : [],
        ),
      ),
    covers,
    spread: (_held, _part, files) => files,
    body,
  };
};

const secretShape = dataShape({
  data: ({ data }) => decoded(data, BASE64),
  body: (data) => ({ data: encoded(Object.entries(data), BASE64) }),
});

const configMapShape = dataShape({
  data: ({ data, binaryData }) =>
    recordOf([...Object.entries(decoded(data, TEXT)), ...Object.entries(decoded(binaryData, BASE64))]),
  body: (data) => {
    const text = Object.entries(data).filter(([, bytes]) => isUtf8(bytes));
    const binary = Object.entries(data).filter(([, bytes]) => !isUtf8(bytes));
    return {
      ...(text.length === 0 ? {} : { data: encoded(text, TEXT) }),
      ...(binary.length === 0 ? {} : { binaryData: encoded(binary, BASE64) }),
    };
  },
});

/** An object with one bundle in one field. */
const fieldShape = (path: readonly string[], codec: Codec, around: Json = {}): Shape => ({
  data: (object) => {
    const value = at(object, ...path);
    return value === undefined || value === null ? {} : { 'ca.crt': codec.decode(value) };
  },
  read: (data) => data,
  covers: () => ['ca.crt'],
  spread: (_data, _part, files) => files,
  body: (data) => nested(path, codec.encode(data['ca.crt'] ?? new Uint8Array()), around),
});

const nested = (path: readonly string[], value: string, around: Json): Json => {
  const [first = '', ...rest] = path;
  const beside = isMap(around[first]) ? around[first] : {};
  return { ...around, [first]: rest.length === 0 ? value : nested(rest, value, beside) };
};

/**
 * Webhooks, each with a bundle of its own, which as one object hold what all of them hold. Where they differ, a second file
 * makes sure that they are not taken for what was written.
 */
const webhookShape: Shape = {
  data: ({ webhooks }) =>
    recordOf(
      (Array.isArray(webhooks) ? webhooks : []).flatMap((webhook: unknown) => {
        const name = at(webhook, 'name');
        const caBundle = at(webhook, 'clientConfig', 'caBundle');
        return typeof name === 'string' ? [[name, BASE64.decode(caBundle)] as const] : [];
      }),
    ),
  covers: (data, part) => {
    const all = Object.keys(data);
    return part === '' ? all : part.split(',').filter((name) => all.includes(name));
  },
  read: (data, part) => {
    const held = webhookShape.covers(data, part).flatMap((name) => data[name] ?? []);
    const [first] = held;
    if (first === undefined) return undefined;
    const name = part === '' ? 'ca.crt' : part;
    if (held.every((bytes) => sameBytes(bytes, first))) return { [name]: first };
    const others = held
      .slice(1)
      .map((bytes) => new Set(readableCertificates(bytes).map(({ fingerprint }) => fingerprint)));
    const common = readableCertificates(first).filter(({ fingerprint }) =>
      others.every((set) => set.has(fingerprint)),
    );
    const differ = Buffer.concat(held.flatMap((bytes) => [bytes, bytesOf('\n')]));
    return { [name]: pemFile(common), differ };
  },
  spread: (data, part, files) => {
    const bundle = files[part === '' ? 'ca.crt' : part] ?? new Uint8Array();
    return Object.fromEntries(webhookShape.covers(data, part).map((name) => [name, bundle]));
  },
  body: (data) => ({
    webhooks: Object.entries(data).map(([name, bytes]) => ({
      name,
      clientConfig: { caBundle: BASE64.encode(bytes) },
    })),
  }),
};

export const SHAPES: Readonly<Record<Plural, Shape>> = {
  secrets: secretShape,
  configmaps: configMapShape,
  clustertrustbundles: fieldShape(['spec', 'trustBundle'], TEXT),
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

/** Names, in the object, of everything that is on record as ours. */
export const ourNames = (plural: Plural, data: FileData, entries: RecordEntries): readonly string[] =>
  Object.entries(entries).flatMap(([part, { record }]) =>
    SHAPES[plural].covers(data, part, record.outputs?.files),
  );

/** What is shorter is kept as it is. */
const SHORT = 1_024;

/**
 * The files, with a digest in place of each that nothing here reads: one that is not of a part which is on record, no file of a
 * Leaf, and without a certificate. Others may keep a megabyte beside what is ours.
 */
export const withDigests = (plural: Plural, data: FileData, entries: RecordEntries): FileData => {
  if (plural !== 'secrets' && plural !== 'configmaps') return data;
  const ours = new Set([...LEAF_FILES, ...ourNames(plural, data, entries)]);
  return recordOf(
    Object.entries(data).map(([name, bytes]) => {
      const read = ours.has(name) || bytes.length <= SHORT || bufferOf(bytes).includes('-----BEGIN ');
      return [name, read ? bytes : bytesOf(`sha256:${hash('sha256', bytes, 'hex')}`)] as const;
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
