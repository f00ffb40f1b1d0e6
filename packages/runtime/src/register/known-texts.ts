import { readFileSync } from 'node:fs';

const MAX_KNOWN = 64;

const CERTIFICATE = /-----BEGIN CERTIFICATE-----([^-]+)-----END CERTIFICATE-----/g;

/** The certificates in an option of `node:tls`: a text, bytes, or a list of them. */
export function certificatesIn(option: unknown): readonly string[] {
  const parts = Array.isArray(option) ? option : [option];
  const isText = (part: unknown) => typeof part === 'string' || part instanceof Uint8Array;
  if (!parts.every(isText)) return [];
  const text = parts.map((part: string | Uint8Array) => Buffer.from(part).toString('latin1')).join('\n');
  return [...text.matchAll(CERTIFICATE)].map(([, body = '']) => body.replace(/\s/g, ''));
}

/** Forgets the oldest text but one: the first is what a program read at start, and may use for as long as it runs. */
class Bounded extends Set<string> {
  override add(text: string): this {
    if (this.size >= MAX_KNOWN && !this.has(text)) this.delete([...this][1] ?? '');
    return super.add(text);
  }
}

/** Tells whether a program passes what it read from a followed file, in this version of the file or an earlier one. */
export class KnownTexts {
  readonly #path: string;
  readonly #keyOf: (certificates: readonly string[]) => string;
  readonly #known = new Bounded();
  readonly #foreign = new Bounded();

  constructor(path: string, keyOf: (certificates: readonly string[]) => string) {
    this.#path = path;
    this.#keyOf = keyOf;
  }

  add(pem: string): void {
    this.#known.add(this.#keyOf(certificatesIn(pem)));
  }

  has(option: unknown): boolean {
    const certificates = certificatesIn(option);
    if (certificates.length === 0) return false;
    const key = this.#keyOf(certificates);
    if (!this.#known.has(key) && !this.#foreign.has(key)) {
      // The program may have read the file after a change that we have not loaded yet.
      (this.#isInFile(key) ? this.#known : this.#foreign).add(key);
    }
    return this.#known.has(key);
  }

  #isInFile(key: string): boolean {
    try {
      return this.#keyOf(certificatesIn(readFileSync(this.#path))) === key;
    } catch {
      return false; // unreadable at this moment: the program has its text from elsewhere
    }
  }
}

/** The same CAs in any order. */
export const asSet = (certificates: readonly string[]): string => [...new Set(certificates)].sort().join(' ');

/** The leaf alone: programs may leave out the chain. */
export const asLeaf = ([leaf = '']: readonly string[]): string => leaf;
