import { RuntimeError } from './error.ts';

/** What was given, for a message. Never the value itself: it may be a key. */
const kindOf = (value: unknown): string => {
  if (value === undefined || value === null) return String(value);
  if (value === '') return 'an empty text';
  if (Array.isArray(value)) return 'a list';
  return (
    { string: 'a text', object: 'an object', function: 'a function' }[typeof value as string] ??
    `a ${typeof value}`
  );
};

const invalid = (message: string) => new RuntimeError('OPTION_INVALID', message);

export function mustBePath(value: unknown, where: string, name = 'path'): asserts value is string {
  if (typeof value !== 'string' || value === '') {
    throw invalid(`${where}: ${name} must be the path of a file, got ${kindOf(value)}`);
  }
}

/** Letters alone, in lower case: `pollms` is near `pollMs`. */
const plain = (name: string): string => name.toLowerCase().replace(/[^a-z]/g, '');

const nearest = (name: string, known: readonly string[]): string => {
  const found = known.find(
    (other) =>
      plain(other) === plain(name) ||
      plain(other).startsWith(plain(name)) ||
      plain(name).startsWith(plain(other)),
  );
  return found === undefined ? `Known: ${known.join(', ')}` : `Did you mean ${found}?`;
};

/** A misspelt option would otherwise be ignored in silence. */
export function mustKnowOptions(
  value: unknown,
  where: string,
  known: readonly string[],
  name = 'options',
): void {
  mustBeObject(value, where, name);
  const unknown = Object.keys(value).find((option) => !known.includes(option));
  if (unknown !== undefined) throw invalid(`${where} has no option "${unknown}". ${nearest(unknown, known)}`);
}

export function mustBeEvent(event: unknown, listener: unknown, known: readonly string[]): void {
  if (typeof event !== 'string' || !known.includes(event)) {
    throw invalid(`there is no event "${String(event)}". ${nearest(String(event), known)}`);
  }
  if (typeof listener !== 'function') {
    throw invalid(`the listener for "${event}" must be a function, got ${kindOf(listener)}`);
  }
}

export function mustBeBoolean(value: unknown, where: string, name: string): void {
  if (value !== undefined && typeof value !== 'boolean') {
    throw invalid(`${where}: ${name} must be true or false, got ${kindOf(value)}`);
  }
}

export function mustBeObject(value: unknown, where: string, name = 'options'): asserts value is object {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw invalid(`${where}: ${name} must be an object, got ${kindOf(value)}`);
  }
}

/** Verification comes from the files: `verify: false` at opening is the one way to do without. */
export function mustNotTurnOff(options: object, where: string, verify: boolean): void {
  if (verify && (options as { rejectUnauthorized?: unknown }).rejectUnauthorized === false) {
    throw invalid(
      `${where}: rejectUnauthorized: false would accept every server; leave it out, or open the trust with { verify: false }`,
    );
  }
}

/** Options that are live cannot be set to verify otherwise than their source does. */
export function mustSayVerify(value: unknown, where: string, verify: boolean): void {
  mustNotTurnOff({ rejectUnauthorized: value }, where, verify);
  if (value !== verify)
    throw invalid(`${where}: rejectUnauthorized stays ${verify}: leave it out, or open the trust otherwise`);
}

/** An option with a certificate would be ignored: certificates come from the files. */
export function mustNotOverride(options: unknown, where: string, verify: boolean): void {
  mustBeObject(options, where);
  mustNotTurnOff(options, where, verify);
  const given = options as Readonly<Record<string, unknown>>;
  const own = ['ca', 'cert', 'key', 'pfx', 'passphrase', 'secureContext'].find(
    (name) => given[name] !== undefined,
  );
  if (own !== undefined)
    throw invalid(`${where} takes no "${own}": certificates and keys come from the files`);
}

export function mustBeTlsServer(server: unknown): void {
  if (typeof (server as { setSecureContext?: unknown } | undefined)?.setSecureContext !== 'function') {
    throw invalid(
      `serve: server must be a tls, https or http2 server (createSecureServer), got ${kindOf(server)} without setSecureContext`,
    );
  }
}

export function mustBePort(value: unknown, where: string): void {
  if (value !== undefined && !(Number.isInteger(value) && Number(value) >= 0 && Number(value) <= 65_535)) {
    throw invalid(`${where}: port must be a whole number from 0 to 65535, got ${kindOf(value)}`);
  }
}

export function mustBeSources(value: unknown, where: string): void {
  const isSource = (source: unknown) =>
    typeof (source as { status?: unknown } | undefined)?.status === 'function';
  if (!Array.isArray(value) || !value.every(isSource)) {
    throw invalid(
      `${where}: sources must be a list of what openTrust, openIdentity, openToken or openTlsProfile gave`,
    );
  }
}
