import { createHash } from 'node:crypto';
import { type Locate, parseResources, type Resource } from '@handover/core';
import { HandoverError } from '@handover/material';
import {
  type CST,
  type Document,
  isNode,
  isScalar,
  isSeq,
  isMap as isYamlMap,
  LineCounter,
  Parser,
  parseAllDocuments,
  visit,
} from 'yaml';
import { EngineError } from '../../error.ts';
import { type FileReader, type Files, replaceFile } from '../disk/files.ts';

/** Far more than a YAML file written by hand; a larger one is there by mistake. */
const MAX_YAML_BYTES = 1024 * 1024;

/** No resource has ten. */
const MOST_LEVELS = 100;

/** One document of a YAML file. */
export interface YamlDocument {
  readonly value: unknown;
  readonly where: string;
  /** Where a field of it is. */
  readonly locate?: Locate;
}

/** Reads every document of one YAML text. Errors name file, line and column. */
export function readYaml(text: string, name: string): readonly YamlDocument[] {
  return readDocuments(text, name).map((one) => {
    if (one instanceof HandoverError) throw one;
    return one;
  });
}

/** Every document of one YAML text, or what is wrong with it. What cannot be told apart is one document. */
export function readDocuments(text: string, name: string): readonly (YamlDocument | HandoverError)[] {
  const invalid = (at: string, why: string): HandoverError =>
    new EngineError('YAML_INVALID', `${at}: ${why}`, { path: name });
  const refuse = (at: string, why: string): readonly HandoverError[] => [invalid(at, why)];
  if (Buffer.byteLength(text) > MAX_YAML_BYTES)
    return refuse(name, 'the file is larger than 1 MiB; split it');
  const deep = tooDeepIn(text);
  if (deep !== undefined)
    return refuse(
      `${name}:${deep.line}:${deep.col}`,
      `more than ${MOST_LEVELS} levels inside each other; correct the YAML there`,
    );
  const lineCounter = new LineCounter();
  // The parser compares every key with all before it: 40,000 of them took 13 s.
  const options = { lineCounter, prettyErrors: false, stringKeys: true, uniqueKeys: false };
  const documents = parseAllDocuments(text, options);
  if (!Array.isArray(documents)) return [];
  const place = (offset: number): string => {
    const { line, col } = lineCounter.linePos(offset);
    return `${name}:${line}:${col}`;
  };
  return documents.flatMap((document): readonly (YamlDocument | HandoverError)[] => {
    const [error] = document.errors;
    if (error !== undefined)
      return refuse(place(error.pos[0]), `${firstLine(error.message)}; correct the YAML there`);
    const twice = keyTwiceIn(document);
    if (twice !== undefined)
      return refuse(place(twice.at), `the key ${twice.key} is given twice; remove one of the two`);
    if (document.contents === null) return [];
    const where = place(document.contents.range?.[0] ?? document.range[0]);
    try {
      const locate: Locate = (path) => {
        const at = offsetOf(document, path);
        return at === undefined ? undefined : place(at);
      };
      return [{ value: document.toJS({ maxAliasCount: 100 }) as unknown, where, locate }];
    } catch (cause) {
      if (cause instanceof TypeError) throw cause; // ours: yaml throws a ReferenceError for too many aliases
      return refuse(where, 'its aliases expand to too much data; write the values out');
    }
  });
}

/** Where a field begins: its key, or of a list its item; of a field that is missing, what should hold it. */
const offsetOf = (document: Document, path: readonly PropertyKey[]): number | undefined => {
  let node: unknown = document.contents;
  let at: number | undefined;
  for (const step of path) {
    if (isYamlMap(node)) {
      const pair = node.items.find(({ key }) => isScalar(key) && key.value === step);
      if (pair === undefined) return at;
      at = (isScalar(pair.key) ? pair.key.range?.[0] : undefined) ?? at;
      node = pair.value;
    } else if (isSeq(node) && typeof step === 'number') {
      node = node.items[step];
      at = (isNode(node) ? node.range?.[0] : undefined) ?? at;
    } else return at;
  }
  return at;
};

const partsOf = (token: CST.Token): readonly CST.Token[] => {
  const items = 'items' in token ? token.items.flatMap(({ key, value }) => [key, value]) : [];
  return [...items, token.type === 'document' ? token.value : undefined].filter((part) => part != null);
};

/** Where the nesting gets too deep. What follows the parser calls itself for each level, and could end the process. */
const tooDeepIn = (text: string): { readonly line: number; readonly col: number } | undefined => {
  const lines = new LineCounter();
  let level: readonly CST.Token[] = [...new Parser(lines.addNewLine).parse(text)];
  for (let depth = 0; depth <= MOST_LEVELS; depth++) level = level.flatMap(partsOf);
  const [first] = level;
  return first === undefined ? undefined : lines.linePos(first.offset);
};

const keyTwiceIn = (document: Document): { readonly key: string; readonly at: number } | undefined => {
  let found: { readonly key: string; readonly at: number } | undefined;
  visit(document, {
    Map: (_, { items }) => {
      const seen = new Set<unknown>();
      for (const { key } of items) {
        if (!isScalar(key)) continue;
        if (seen.has(key.value)) {
          found = { key: firstLine(String(key.value)).slice(0, 64), at: key.range?.[0] ?? 0 };
          return visit.BREAK;
        }
        seen.add(key.value);
      }
      return undefined;
    },
  });
  return found;
};

const firstLine = (text: string): string => text.split('\n', 1)[0]?.replace(/\.$/, '') ?? '';

interface Text {
  readonly name: string;
  readonly text: string;
}

type Documents = readonly { readonly value: unknown; readonly where: string }[];

export const textsIn = (files: FileReader, directory: string): readonly Text[] =>
  files
    .list(directory)
    .filter((name) => /\.ya?ml$/.test(name) && !name.startsWith('.'))
    .sort()
    .flatMap((name) => {
      const bytes = files.read(`${directory}/${name}`);
      return bytes === undefined ? [] : [{ name, text: Buffer.from(bytes).toString('utf8') }];
    });

const REMEMBERED = 'resources.json';
/** Parsing YAML takes half a millisecond per document: with fewer documents a cache saves nothing that a user notices. */
const WORTH_REMEMBERING = 50;

const digestOfTexts = (texts: readonly Text[]): string => {
  const hash = createHash('sha256').update(VERSION);
  for (const { name, text } of texts) hash.update(`${name}\0${text.length}\0`).update(text);
  return hash.digest('hex');
};
const VERSION = 'handover.dev/resources/1\0';

const remembered = (files: FileReader, state: string, digest: string): Documents | undefined => {
  const bytes = files.read(`${state}/${REMEMBERED}`);
  if (bytes === undefined) return undefined;
  try {
    const value = JSON.parse(Buffer.from(bytes).toString('utf8')) as {
      digest?: unknown;
      documents?: unknown;
    };
    return value.digest === digest && Array.isArray(value.documents) ? value.documents : undefined;
  } catch {
    return undefined;
  }
};

/** All resources of `DIR/*.yaml` (and `.yml`), in the order of the file names. One that is wrong is an error of the whole. */
export function readDirectoryResources(files: FileReader, directory: string): readonly Resource[] {
  const texts = textsIn(files, directory);
  const large = texts.some(({ text }) => text.length > WORTH_REMEMBERING * 100);
  const known = large ? remembered(files, `${directory}/state`, digestOfTexts(texts)) : undefined;
  return parseResources(known ?? texts.flatMap(({ name, text }) => readYaml(text, name)));
}

/** Caches many parsed YAML documents beside the state, for commands that only read. Needs the lock. */
export async function rememberResources(files: Files, directory: string): Promise<void> {
  const texts = textsIn(files, directory);
  const digest = digestOfTexts(texts);
  if (remembered(files, `${directory}/state`, digest) !== undefined) return;
  const read = texts.flatMap(({ name, text }) => readDocuments(text, name));
  const documents = read.flatMap((one) =>
    one instanceof HandoverError ? [] : [{ value: one.value, where: one.where }],
  );
  if (documents.length < read.length) return; // wrong ones are read again each time
  if (documents.length < WORTH_REMEMBERING) return;
  await replaceFile(files, `${directory}/state`, REMEMBERED, JSON.stringify({ digest, documents }), 0o600);
}
