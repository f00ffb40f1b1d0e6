import crypto, { type KeyObject } from 'node:crypto';
import { syncBuiltinESMExports } from 'node:module';

const generate = crypto.generateKeyPairSync;
const generateAside = crypto.generateKeyPair;
type Made = (error: Error | null, publicKey: KeyObject, privateKey: KeyObject) => void;

/** Collects every private key that any code in this process makes from now on. `end` restores the original functions. */
export const keysMade = (): { readonly keys: readonly KeyObject[]; end(): void } => {
  const keys: KeyObject[] = [];
  crypto.generateKeyPairSync = ((...args: Parameters<typeof generate>) => {
    const pair = generate(...args) as unknown as { readonly privateKey: KeyObject };
    keys.push(pair.privateKey);
    return pair;
  }) as typeof generate;
  crypto.generateKeyPair = ((type: 'ec', options: { namedCurve: string }, made: Made) =>
    generateAside(type, options, (error, publicKey, privateKey) => {
      if (error === null) keys.push(privateKey);
      made(error, publicKey, privateKey);
    })) as unknown as typeof generateAside;
  syncBuiltinESMExports();
  return {
    keys,
    end: () => {
      crypto.generateKeyPairSync = generate;
      crypto.generateKeyPair = generateAside;
      syncBuiltinESMExports();
    },
  };
};

/** Removes line ends, real or escaped, and separators between bytes. */
const squeezed = (text: string): string => text.replace(/\\[nr]|[\s:,]/g, '');

const secretOf = (key: KeyObject): Buffer => {
  const { d = '' } = key.export({ format: 'jwk' });
  return Buffer.from(d, 'base64url');
};

/** Forms of a key in a text: PEM, DER, or the secret number alone, in any of the usual encodings. */
const tracesOf = (key: KeyObject): readonly string[] => {
  const der = key.export({ type: 'pkcs8', format: 'der' });
  const secret = secretOf(key);
  // The middle: a text with the whole key contains it, however the ends are written.
  const middle = secret.subarray(3, 24);
  const alphabets = ['hex', 'base64', 'base64url'] as const;
  return [
    ...alphabets.map((alphabet) => squeezed(der.toString(alphabet)).slice(0, 60)),
    ...alphabets.map((alphabet) => secret.toString(alphabet).slice(0, 32)),
    secret.toString('hex').toUpperCase().slice(0, 32),
    // An array of numbers, as JSON writes bytes; both sides have their commas removed.
    [...middle].join(''),
    // The secret's offset in DER changes its base64 text: all three alignments.
    ...[0, 1, 2].map((shift) => {
      const text = Buffer.concat([Buffer.alloc(shift), secret]).toString('base64');
      return text.slice(4, 4 + 28);
    }),
  ];
};

/** Those of `keys` that `text` contains. */
export const keysIn = (text: string, keys: readonly KeyObject[]): readonly string[] => {
  const all = squeezed(text);
  return keys.flatMap((key, index) =>
    tracesOf(key)
      .filter((trace) => all.includes(trace))
      .map((trace) => `key ${index} (${key.asymmetricKeyType}) as ${trace.slice(0, 8)}…`),
  );
};
