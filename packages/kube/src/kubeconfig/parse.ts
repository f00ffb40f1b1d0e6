import { dirname, isAbsolute, resolve } from 'node:path';
import { HandoverError } from '@handover/material';

export interface NamedCluster {
  readonly server?: string;
  readonly 'certificate-authority'?: string;
  readonly 'certificate-authority-data'?: string;
  readonly 'insecure-skip-tls-verify'?: boolean;
  readonly 'tls-server-name'?: string;
  readonly 'proxy-url'?: string;
  readonly extensions?: readonly { readonly name?: string; readonly extension?: unknown }[];
}

export interface NamedUser {
  readonly 'client-certificate'?: string;
  readonly 'client-certificate-data'?: string;
  readonly 'client-key'?: string;
  readonly 'client-key-data'?: string;
  readonly token?: string;
  readonly tokenFile?: string;
  readonly username?: string;
  readonly password?: string;
  readonly as?: string;
  readonly 'as-uid'?: string;
  readonly 'as-groups'?: readonly string[];
  readonly 'as-user-extra'?: Readonly<Record<string, readonly string[]>>;
  readonly 'auth-provider'?: { readonly name?: string };
  readonly exec?: {
    readonly apiVersion?: string;
    readonly command?: string;
    readonly args?: readonly string[] | null;
    readonly env?: readonly { readonly name?: string; readonly value?: string }[] | null;
    readonly installHint?: string;
    readonly provideClusterInfo?: boolean;
    readonly interactiveMode?: string;
  };
}

export interface NamedContext {
  readonly cluster?: string;
  readonly user?: string;
  readonly namespace?: string;
}

/** One or several kubeconfig files as one: by name, the first file that has it wins. */
export interface MergedConfig {
  readonly currentContext: string;
  readonly clusters: ReadonlyMap<string, NamedCluster>;
  readonly users: ReadonlyMap<string, NamedUser>;
  readonly contexts: ReadonlyMap<string, NamedContext>;
}

type Entries = readonly Readonly<Record<string, unknown>>[];

const malformed = (path: string, why: string): HandoverError =>
  new HandoverError('KUBECONFIG_MALFORMED', `${path} ${why}; compare it with \`kubectl config view\``, {
    path,
  });

/** Names of files in a kubeconfig are relative to it. */
const located = (directory: string, file: unknown): unknown =>
  typeof file !== 'string' || file === '' || isAbsolute(file) ? file : resolve(directory, file);

const FILES = ['certificate-authority', 'client-certificate', 'client-key', 'tokenFile'] as const;

function entriesOf(document: Readonly<Record<string, unknown>>, list: string, inner: string, path: string) {
  const given = document[list] ?? [];
  if (!Array.isArray(given)) throw malformed(path, `has no list under "${list}"`);
  const found = new Map<string, Record<string, unknown>>();
  for (const entry of given as Entries) {
    const name = entry?.name;
    const value = entry?.[inner] ?? {};
    if (typeof name !== 'string' || typeof value !== 'object' || value === null) {
      throw malformed(path, `has an entry under "${list}" without a name or a ${inner}`);
    }
    if (found.has(name)) continue;
    const own: Record<string, unknown> = { ...(value as Record<string, unknown>) };
    for (const file of FILES) if (file in own) own[file] = located(dirname(path), own[file]);
    // As a shell would: a command with a slash in it is relative to the file, a bare one is looked up in PATH.
    const exec = own.exec as { command?: unknown } | undefined;
    if (typeof exec?.command === 'string' && exec.command.includes('/')) {
      own.exec = { ...exec, command: located(dirname(path), exec.command) };
    }
    found.set(name, own);
  }
  return found;
}

/** Reads one file's text. YAML or JSON. */
export async function parseKubeConfig(text: string, path: string): Promise<MergedConfig> {
  // Loaded only here: a pod does not need it, and it takes 7 MB.
  const { parse } = await import('./yaml.ts');
  let document: unknown;
  try {
    // Its warnings would go to standard error with the line they are about, which may be a token.
    document = parse(text, { maxAliasCount: 100, logLevel: 'error' });
  } catch (cause) {
    const at = (cause as { linePos?: readonly { line: number }[] }).linePos?.[0]?.line;
    // The parser's own message quotes the line, which may be a token.
    throw malformed(path, at === undefined ? 'is no YAML' : `is no YAML at line ${at}`);
  }
  if (document === null || document === undefined) document = {};
  if (typeof document !== 'object' || Array.isArray(document)) throw malformed(path, 'holds no kubeconfig');
  const fields = document as Readonly<Record<string, unknown>>;
  if (fields.kind !== undefined && fields.kind !== 'Config')
    throw malformed(path, 'is of another kind than Config');
  const current = fields['current-context'];
  return {
    currentContext: typeof current === 'string' ? current : '',
    clusters: entriesOf(fields, 'clusters', 'cluster', path),
    users: entriesOf(fields, 'users', 'user', path),
    contexts: entriesOf(fields, 'contexts', 'context', path),
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
