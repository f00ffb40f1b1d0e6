import { identityOf, parseResource, parseResources, type Resource } from '@handover/core';
import { HandoverError, isMap } from '@handover/material';
import { EngineError, isCode } from '../../error.ts';
import type { Unusable } from '../../snapshot/catalogue.ts';
import { type FileReader, type Files, replaceFile } from '../disk/files.ts';
import { readDirectoryResources, readDocuments, textsIn, type YamlDocument } from './resources.ts';

/** A resource as it stands, or last stood, in a file. */
interface Declaration {
  readonly file: string;
  /** Its place among the documents of the file. */
  readonly index: number;
  readonly value: unknown;
  readonly resource: Resource;
}

/** What the files of a directory declare. */
export interface Declared {
  readonly resources: readonly Resource[];
  /** Documents that are wrong. What they declared last is among the resources, as it was. */
  readonly frozen: readonly Unusable[];
  /** Why some resources are not known: a document is wrong, and what it declared last is not recorded. */
  readonly unknown: string | undefined;
  /** To be remembered; undefined: they are as they were remembered. */
  readonly declarations: readonly Declaration[] | undefined;
}

interface Wrong {
  readonly file: string;
  readonly error: HandoverError;
  /** Undefined: the document does not say which resource it is. */
  readonly identity: string | undefined;
}

const NAMED = 3;
/** Everything that is wrong, as one error. */
const allIn = (errors: readonly HandoverError[]): HandoverError | undefined => {
  const [first, second] = errors;
  if (first === undefined || second === undefined) return first;
  const more = errors.length > NAMED ? `; and ${errors.length - NAMED} more` : '';
  const named = errors.slice(0, NAMED).map(({ message }) => message);
  const code = isCode(first, 'YAML_INVALID') ? 'YAML_INVALID' : 'RESOURCE_INVALID';
  return new EngineError(
    code,
    `${named.join('; ')}${more}`,
    first.path === undefined ? {} : { path: first.path },
  );
};

const NAME = 'declared.json';

/** Which resource a document is that is wrong as a whole. */
const claimedIdentity = (value: unknown): string | undefined => {
  if (!isMap(value) || !isMap(value.metadata)) return undefined;
  const { kind, metadata } = value;
  const { name, namespace = 'default' } = metadata;
  if (typeof kind !== 'string' || typeof name !== 'string' || typeof namespace !== 'string') return undefined;
  return kind === 'TrustBundle' ? `${kind} ${name}` : `${kind} ${namespace}/${name}`;
};

const readFile = (
  file: string,
  documents: readonly (YamlDocument | HandoverError)[],
): { readonly good: readonly Declaration[]; readonly wrong: readonly Wrong[] } => {
  const good: Declaration[] = [];
  const wrong: Wrong[] = [];
  for (const [index, one] of documents.entries()) {
    if (one instanceof HandoverError) {
      wrong.push({ file, error: one, identity: undefined });
      continue;
    }
    const { value, where, locate } = one;
    try {
      good.push({ file, index, value, resource: parseResource(value, where, locate) });
    } catch (error) {
      if (!(error instanceof HandoverError)) throw error;
      wrong.push({ file, error, identity: claimedIdentity(value) });
    }
  }
  return { good, wrong };
};

/** What was declared last; undefined: that is not known. */
const remembered = (files: FileReader, state: string): readonly Declaration[] | undefined => {
  const bytes = files.read(`${state}/${NAME}`);
  if (bytes === undefined) return undefined;
  try {
    const saved: unknown = JSON.parse(Buffer.from(bytes).toString('utf8'));
    if (!isMap(saved) || saved.version !== 1 || !Array.isArray(saved.documents)) return undefined;
    return saved.documents.map(
      (one: { file: string; index: number; value: unknown }): Declaration => ({
        file: one.file,
        index: one.index,
        value: one.value,
        resource: parseResource(one.value),
      }),
    );
  } catch (error) {
    if (error instanceof SyntaxError || error instanceof HandoverError) return undefined;
    throw error;
  }
};

const hasAuthorities = (files: FileReader, state: string): boolean =>
  files
    .list(`${state}/authorities`)
    .some((namespace) => files.list(`${state}/authorities/${namespace}`).length > 0);

/**
 * The resources of `DIR/*.yaml`. A document that is wrong freezes what it declared last: that stays as it was, also after a restart, so that its
 * consumers and bundles count in every gate, and all other resources go on.
 */
export function readDeclared(files: FileReader, directory: string): Declared {
  const state = `${directory}/state`;
  const texts = textsIn(files, directory);
  const read = texts.map(({ name, text }) => readFile(name, readDocuments(text, name)));
  const good = read.flatMap((one) => one.good);
  const wrong = read.flatMap((one) => one.wrong);
  const [first] = wrong;
  if (first === undefined) {
    const resources = readDirectoryResources(files, directory); // refuses duplicates
    return { resources, frozen: [], unknown: undefined, declarations: good };
  }
  const last = remembered(files, state);
  // Nothing was ever made here: a person is at work on it, and wants to know at once.
  if (last === undefined && !hasAuthorities(files, state)) throw allIn(wrong.map(({ error }) => error));
  const now = new Set(good.map(({ resource }) => identityOf(resource)));
  const present = new Set(texts.map(({ name }) => name));
  const missing = (last ?? []).filter(({ resource }) => !now.has(identityOf(resource)));
  const kept = new Map<string, Declaration>();
  const frozen = wrong.map(({ file, error, identity }): Unusable => {
    const named = missing.filter((one) => identityOf(one.resource) === identity);
    // A typo in kind or name makes it another resource, or none; and the file may have been renamed.
    const own =
      named.length > 0 ? named : missing.filter((one) => one.file === file || !present.has(one.file));
    const names = own.map(({ resource }) => identityOf(resource));
    for (const [at, name] of names.entries()) kept.set(name, own[at] as Declaration);
    const [kind = 'File', ...id] = identity?.split(' ') ?? ['File', file];
    const stays =
      names.length === 0
        ? 'nothing was declared there before that could stay'
        : `until then ${names.slice(0, 5).join(', ')}${names.length > 5 ? ` and ${names.length - 5} more` : ''} ${names.length === 1 ? 'stays' : 'stay'} as last declared`;
    return {
      kind,
      id: id.join(' '),
      code: error.code,
      message: `${error.message}; ${last === undefined ? 'what was declared there before is not known' : stays}`,
    };
  });
  const declarations = [...good, ...kept.values()].sort((a, b) =>
    a.file < b.file ? -1 : a.file > b.file ? 1 : a.index - b.index,
  );
  return {
    resources: parseResources(declarations.map(({ file, value }) => ({ value, where: file }))),
    frozen,
    unknown:
      last === undefined
        ? `${first.error.message}; what it declared before is not known, so that no CA is activated or retired until it is corrected`
        : undefined,
    declarations: last === undefined ? undefined : declarations,
  };
}

/** Remembers what is declared, for the day on which one of the files is wrong. Needs the lock. */
export async function rememberDeclared(
  files: Files,
  directory: string,
  { declarations }: Pick<Declared, 'declarations'>,
): Promise<void> {
  if (declarations === undefined || files.facts(`${directory}/state`) === undefined) return;
  const documents = declarations.map(({ file, index, value }) => ({ file, index, value }));
  const text = JSON.stringify({ version: 1, documents });
  const before = files.read(`${directory}/state/${NAME}`);
  if (before !== undefined && Buffer.from(before).toString('utf8') === text) return;
  await replaceFile(files, `${directory}/state`, NAME, text, 0o600);
}
