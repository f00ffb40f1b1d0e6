type Check = (value: unknown) => boolean;

const text: Check = (value) => typeof value === 'string';
const flag: Check = (value) => typeof value === 'boolean';
const isMap = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const map =
  (each: Check): Check =>
  (value) =>
    isMap(value) && Object.values(value).every(each);
const list =
  (each: Check): Check =>
  (value) =>
    Array.isArray(value) && value.every(each);
/** null counts as left out, as in kubectl. */
const fields =
  (checks: Readonly<Record<string, Check>>): Check =>
  (value) =>
    isMap(value) &&
    Object.entries(checks).every(([name, check]) => (value[name] ?? null) === null || check(value[name]));

const CHECKS: Readonly<Record<'cluster' | 'user' | 'context', Readonly<Record<string, Check>>>> = {
  cluster: {
    server: text,
    'certificate-authority': text,
    'certificate-authority-data': text,
    'insecure-skip-tls-verify': flag,
    'tls-server-name': text,
    'proxy-url': text,
    extensions: list(fields({ name: text })),
  },
  user: {
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
    exec: fields({
      apiVersion: text,
      command: text,
      args: list(text),
      env: list(fields({ name: text, value: text })),
      installHint: text,
      provideClusterInfo: flag,
      interactiveMode: text,
    }),
  },
  context: { cluster: text, user: text, namespace: text },
};

/** The name of the first field whose value has the wrong type. */
export const wrongField = (what: keyof typeof CHECKS, entry: Readonly<Record<string, unknown>>) =>
  Object.keys(CHECKS[what]).find((name) => !fields(CHECKS[what])({ [name]: entry[name] }));
