import { dirname, isAbsolute, resolve } from 'node:path';
import type { HandoverError } from '@handover/material';
import { KubeError } from '../error.ts';
import { type NamedCluster, type NamedContext, type NamedUser, wrongField } from './fields.ts';

/** One or several kubeconfig files, merged: for each name the first file wins. */
export interface MergedConfig {
  readonly currentContext: string;
  readonly clusters: ReadonlyMap<string, NamedCluster>;
  readonly users: ReadonlyMap<string, NamedUser>;
  readonly contexts: ReadonlyMap<string, NamedContext>;
}

type Entries = readonly Readonly<Record<string, unknown>>[];

const malformed = (path: string, why: string): HandoverError =>
  new KubeError('KUBECONFIG_MALFORMED', `${path} ${why}; compare it with \`kubectl config view\``, {
    path,
  });

/** File names in a kubeconfig are relative to its folder. */
const located = (directory: string, file: unknown): unknown =>
  typeof file !== 'string' || file === '' || isAbsolute(file) ? file : resolve(directory, file);

const FILES = ['certificate-authority', 'client-certificate', 'client-key', 'tokenFile'] as const;

function entriesOf(
  document: Readonly<Record<string, unknown>>,
  inner: 'cluster' | 'user' | 'context',
  path: string,
) {
  const list = `${inner}s`;
  const given = document[list] ?? [];
  if (!Array.isArray(given)) throw malformed(path, `needs a list under "${list}"`);
  const found = new Map<string, Record<string, unknown>>();
  for (const entry of given as Entries) {
    const name = entry?.name;
    const value = entry?.[inner] ?? {};
    if (typeof name !== 'string' || typeof value !== 'object' || value === null) {
      throw malformed(path, `has an entry under "${list}" without a name or a ${inner}`);
    }
    if (found.has(name)) continue;
    // null counts as left out, as in kubectl.
    const own = Object.fromEntries(Object.entries(value).filter(([, field]) => field !== null));
    const wrong = wrongField(inner, own);
    if (wrong !== undefined)
      throw malformed(path, `has a "${wrong}" of the wrong type in ${inner} "${name}"`);
    for (const file of FILES) if (file in own) own[file] = located(dirname(path), own[file]);
    // As in a shell: a command with a slash is relative to the file, a bare one is looked up in PATH.
    const exec = own.exec as { command?: unknown } | undefined;
    if (typeof exec?.command === 'string' && exec.command.includes('/')) {
      own.exec = { ...exec, command: located(dirname(path), exec.command) };
    }
    found.set(name, own);
  }
  return found;
}

/** Parses the text of one file, YAML or JSON. */
export async function parseKubeConfig(text: string, path: string): Promise<MergedConfig> {
  // Loaded only here: it takes 7 MB, and a pod with a service account does not need it.
  const { parse } = await import('./yaml.ts');
  let document: unknown;
  try {
    // A warning would print the line to standard error, and the line may hold a token.
    document = parse(text, { maxAliasCount: 100, logLevel: 'error' });
  } catch (cause) {
    // The parser throws its own errors, and plain ones for aliases, merges and deep nesting. A TypeError is a bug.
    if (cause instanceof TypeError) throw cause;
    const at = (cause as { linePos?: readonly { line: number }[] }).linePos?.[0]?.line;
    // The parser's own message quotes the line, and the line may hold a token.
    throw malformed(path, at === undefined ? 'is not valid YAML' : `is not valid YAML at line ${at}`);
  }
  if (document === null || document === undefined) document = {};
  if (typeof document !== 'object' || Array.isArray(document)) throw malformed(path, 'is not a kubeconfig');
  const fields = document as Readonly<Record<string, unknown>>;
  if (fields.kind !== undefined && fields.kind !== 'Config') throw malformed(path, 'must be of kind Config');
  const current = fields['current-context'];
  return {
    currentContext: typeof current === 'string' ? current : '',
    clusters: entriesOf(fields, 'cluster', path),
    users: entriesOf(fields, 'user', path),
    contexts: entriesOf(fields, 'context', path),
  };
}

const firstWins = <Value>(maps: readonly ReadonlyMap<string, Value>[]): ReadonlyMap<string, Value> =>
  new Map([...maps].reverse().flatMap((map) => [...map]));

export const mergeConfigs = (all: readonly MergedConfig[]): MergedConfig => ({
  currentContext: all.find(({ currentContext }) => currentContext !== '')?.currentContext ?? '',
  clusters: firstWins(all.map(({ clusters }) => clusters)),
  users: firstWins(all.map(({ users }) => users)),
  contexts: firstWins(all.map(({ contexts }) => contexts)),
});
