import { isMap } from '@handover/material';

type Check<T> = (value: unknown) => value is T;
type Checks = Readonly<Record<string, Check<unknown>>>;
/** The type that a table of checks stands for. */
type Checked<C extends Checks> = { readonly [Name in keyof C]?: C[Name] extends Check<infer T> ? T : never };

const text = (value: unknown): value is string => typeof value === 'string';
const flag = (value: unknown): value is boolean => typeof value === 'boolean';
const anything = (_: unknown): _ is unknown => true;
const list =
  <T>(each: Check<T>) =>
  (value: unknown): value is readonly T[] =>
    Array.isArray(value) && value.every(each);
const map =
  <T>(each: Check<T>) =>
  (value: unknown): value is Readonly<Record<string, T>> =>
    isMap(value) && Object.values(value).every(each);
/** null counts as left out, as in kubectl. */
const fields =
  <C extends Checks>(checks: C) =>
  (value: unknown): value is Checked<C> =>
    isMap(value) &&
    Object.entries(checks).every(([name, check]) => (value[name] ?? null) === null || check(value[name]));

const CLUSTER = {
  server: text,
  'certificate-authority': text,
  'certificate-authority-data': text,
  'insecure-skip-tls-verify': flag,
  'tls-server-name': text,
  'proxy-url': text,
  extensions: list(fields({ name: text, extension: anything })),
};
const USER = {
  'client-certificate': text,
  'client-certificate-data': text,
  'client-key': text,
  'client-key-data': text,
  token: text,
  tokenFile: text,
  username: text,
  password: text,
  as: text,
  'as-uid': text,
  'as-groups': list(text),
  'as-user-extra': map(list(text)),
  'auth-provider': anything,
  exec: fields({
    apiVersion: text,
    command: text,
    args: list(text),
    env: list(fields({ name: text, value: text })),
    installHint: text,
    provideClusterInfo: flag,
    interactiveMode: text,
  }),
};
const CONTEXT = { cluster: text, user: text, namespace: text };
const CHECKS = { cluster: CLUSTER, user: USER, context: CONTEXT } as const;

export type NamedCluster = Checked<typeof CLUSTER>;
export type NamedUser = Checked<typeof USER>;
export type NamedContext = Checked<typeof CONTEXT>;

/** The name of the first field whose value has the wrong type. */
export const wrongField = (
  what: keyof typeof CHECKS,
  entry: Readonly<Record<string, unknown>>,
): string | undefined =>
  Object.entries(CHECKS[what]).find(([name, check]) => entry[name] !== undefined && !check(entry[name]))?.[0];
