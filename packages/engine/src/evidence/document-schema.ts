import { ACK_PORT } from '@handover/core';
import { isMap, iso } from '@handover/material';

/** Why a status document does not speak for all of its processes, to be read after the document's name; undefined when it does. */
export const unheard = (processes: unknown): string | undefined => {
  if (processes === undefined) return undefined; // a document of one process
  if (!Array.isArray(processes)) return 'has a field processes that is not a list';
  const silent = processes.find((one) => typeof one?.pid !== 'number' || one.silent !== undefined);
  if (silent === undefined) return undefined;
  return typeof silent?.pid === 'number'
    ? `speaks for process ${silent.pid}, which gave no answer; is it stopped or hanging, or does it run a thread without register?`
    : 'has a field processes[] without a process id';
};

/** The runtime writes its file every 10 s; after three missed writes its process is gone. */
export const STALE_MS = 35_000;

/** Whose evidence needs a field: that of every consumer, of consumers that verify, of consumers that present a leaf, of pods; or of none. */
export type NeededBy = 'every consumer' | 'verifies' | 'presents' | 'pods' | 'none';

/** JSON Schema of one field: https://json-schema.org/draft/2020-12. */
type FieldSchema =
  | { readonly const: 1 }
  | { readonly type: 'string' | 'integer' | 'boolean' | 'array'; readonly [rule: string]: unknown };

interface Field {
  readonly name: string;
  readonly type: string;
  readonly schema: FieldSchema;
  readonly neededBy: NeededBy;
  readonly meaning: string;
}

/** With capitals and colons it is read too. */
const FINGERPRINT: FieldSchema = { type: 'string', pattern: '^[0-9a-f]{64}$' };

/** The status document, field by field: docs/reference/status-document.md is made from this list. Other fields are ignored. */
export const DOCUMENT_FIELDS: readonly Field[] = [
  {
    name: 'version',
    type: '1',
    schema: { const: 1 },
    neededBy: 'every consumer',
    meaning: 'Version of this format.',
  },
  {
    name: 'at',
    type: 'ISO 8601 time',
    schema: { type: 'string', format: 'date-time' },
    neededBy: 'every consumer',
    meaning: `When the process wrote the document. More than ${STALE_MS / 1000} s before or after the reader's clock, it is no evidence.`,
  },
  {
    name: 'sources',
    type: 'list',
    schema: { type: 'array' },
    neededBy: 'every consumer',
    meaning: 'What the process has loaded: one entry for each file or set of files.',
  },
  {
    name: 'sources[].anchors',
    type: 'list of text',
    schema: { type: 'array', items: FINGERPRINT },
    neededBy: 'verifies',
    meaning:
      'SHA-256 fingerprints, lower-case hex, of all CA certificates in use. Of the sources that hold a CA of the authority, the CAs that all of them hold count.',
  },
  {
    name: 'sources[].leaf.fingerprint',
    type: 'text',
    schema: FINGERPRINT,
    neededBy: 'presents',
    meaning:
      'SHA-256 fingerprint of the leaf in use, lower-case hex. Handover knows which CA generation signed the leaf that an object of the authority holds, or has held while Handover runs; without `issuerKeyId`, any other leaf blocks the next step. For a consumer with `leaf` the certificate of another Leaf is no evidence.',
  },
  {
    name: 'sources[].leaf.issuerKeyId',
    type: 'text',
    schema: { type: 'string', pattern: '^([0-9a-f]{2})+$' },
    neededBy: 'none',
    meaning:
      'Authority key id of the leaf in use, lower-case hex without colons. It names the CA generation that signed the leaf, so it is enough without a fingerprint. The leaf of another issuer needs it. Of several leaves the one with the oldest CA counts.',
  },
  {
    name: 'sources[].leaf.chain',
    type: 'list of text',
    schema: { type: 'array', items: FINGERPRINT },
    neededBy: 'none',
    meaning:
      'SHA-256 fingerprints, lower-case hex, of the certificates that the process sends behind the leaf: empty if it sends the leaf alone. It shows whether the process sends the cross-certificate in the leaf’s file. Left out: not known.',
  },
  {
    name: 'pid',
    type: 'number',
    schema: { type: 'integer' },
    neededBy: 'none',
    meaning: 'Process id: evidence of another process does not count for this one.',
  },
  {
    name: 'processes',
    type: 'list',
    schema: {
      type: 'array',
      items: {
        type: 'object',
        required: ['pid'],
        properties: { pid: { type: 'integer' }, silent: { type: 'boolean' } },
      },
    },
    neededBy: 'none',
    meaning:
      'The processes that the document speaks for, where there are several (`node:cluster`, `register`): `pid` of each, and `silent` for one that gave no answer. With a silent one it is no evidence.',
  },
  {
    name: 'podUid',
    type: 'text',
    schema: { type: 'string' },
    neededBy: 'pods',
    meaning: `UID of the pod, for pods with \`${ACK_PORT}\`: an address passes to another pod when one ends.`,
  },
  {
    name: 'truncated',
    type: 'true or false',
    schema: { type: 'boolean' },
    neededBy: 'none',
    meaning: 'True when CAs were left out: then a missing CA proves nothing.',
  },
];

interface LeafDocument {
  readonly fingerprint?: string;
  readonly issuerKeyId?: string;
  readonly chain?: readonly string[];
}

export interface SourceDocument {
  readonly anchors: readonly string[] | undefined;
  readonly leaf: LeafDocument | undefined;
}

/** How the parts of a status document are called, or those of a metrics page. */
export interface Wording {
  readonly anchors: string;
  readonly noAnchors: (source: number) => string;
  readonly leaf: string;
  readonly noLeaf: string;
  readonly fingerprint: (source: number) => string;
  readonly issuerKeyId: string;
}

const DOCUMENT_WORDING: Wording = {
  anchors: 'sources[].anchors',
  noAnchors: (source) => `has no field sources[${source}].anchors`,
  leaf: 'sources[].leaf',
  noLeaf: 'has no field sources[].leaf',
  fingerprint: (source) => `sources[${source}].leaf.fingerprint`,
  issuerKeyId: 'issuerKeyId',
};

export interface ParsedStatus {
  readonly at: number;
  readonly pid: number | undefined;
  readonly podUid: string | undefined;
  readonly truncated: boolean;
  /** How its parts are called, for people. */
  readonly wording: Wording;
  readonly sources: readonly SourceDocument[];
}

/** As we write it, whatever the case and with or without colons. */
export const hex = (text: string): string => text.replaceAll(':', '').toLowerCase();

const isTexts = (value: unknown): value is readonly string[] =>
  Array.isArray(value) && value.every((item) => typeof item === 'string');

const sourceOf = (value: unknown, name: string): SourceDocument | string => {
  if (!isMap(value)) return `has no object in ${name}`;
  const { anchors, leaf } = value;
  if (anchors !== undefined && !isTexts(anchors)) return `has no list of text in ${name}.anchors`;
  const held = anchors?.map(hex);
  if (leaf === undefined || leaf === null) return { anchors: held, leaf: undefined };
  if (!isMap(leaf)) return `has no object in ${name}.leaf`;
  const { issuerKeyId, fingerprint, chain } = leaf;
  if (issuerKeyId !== undefined && typeof issuerKeyId !== 'string')
    return `has no text in ${name}.leaf.issuerKeyId`;
  if (chain !== undefined && chain !== null && !isTexts(chain))
    return `has no list of text in ${name}.leaf.chain`;
  return {
    anchors: held,
    leaf: {
      ...(typeof fingerprint === 'string' ? { fingerprint: hex(fingerprint) } : {}),
      ...(issuerKeyId === undefined ? {} : { issuerKeyId: hex(issuerKeyId) }),
      ...(isTexts(chain) ? { chain: chain.map(hex) } : {}),
    },
  };
};

/** The document; or what is wrong with it, to be read after its name: "has no field at". */
export const documentIn = (text: string, now: number): ParsedStatus | string => {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return 'is not JSON';
  }
  if (!isMap(value)) return 'is not a JSON object';
  const missing = ['version', 'at', 'sources'].find((field) => value[field] === undefined);
  if (missing !== undefined) return `has no field ${missing}`;
  if (value.version !== 1) return 'has a version other than 1';
  const at = Date.parse(String(value.at));
  if (Number.isNaN(at)) return 'has no ISO 8601 time in at';
  // The time, not the age: a text that changes with every look would be news each time.
  if (now - at > STALE_MS) return `was written at ${iso(at)}; after ${STALE_MS / 1000} s it is no evidence`;
  if (at - now > STALE_MS) return `is dated ahead, ${iso(at)}; set the clocks`;
  if (!Array.isArray(value.sources)) return 'has no list in sources';
  const sources: SourceDocument[] = [];
  for (const [index, item] of value.sources.entries()) {
    const source = sourceOf(item, `sources[${index}]`);
    if (typeof source === 'string') return source;
    sources.push(source);
  }
  // A process that gave no answer may still use what the others no longer do.
  const silent = unheard(value.processes);
  if (silent !== undefined) return silent;
  const { pid, podUid, truncated } = value;
  return {
    at,
    pid: typeof pid === 'number' ? pid : undefined,
    podUid: typeof podUid === 'string' ? podUid : undefined,
    truncated: truncated === true,
    wording: DOCUMENT_WORDING,
    sources,
  };
};
