import { readFileSync } from 'node:fs';

const MAX_KNOWN = 64;

const CERTIFICATE = /-----BEGIN CERTIFICATE-----([^-]+)-----END CERTIFICATE-----/g;

type Text = string | Uint8Array;
export const isText = (part: unknown): part is Text => typeof part === 'string' || part instanceof Uint8Array;
const textOf = (part: Text): string => Buffer.from(part).toString('latin1');
const bare = (body: string): string => body.replace(/\s/g, '');

/** An option of `node:tls` as a list. */
export const partsOf = (option: unknown): readonly unknown[] =>
  Array.isArray(option) ? option : option === undefined || option === null ? [] : [option];

/** The certificates in an option of `node:tls`: a text, bytes, or a list of them. */
function certificatesIn(option: unknown): readonly string[] {
  const parts = partsOf(option);
  if (!parts.every(isText)) return [];
  return [...parts.map(textOf).join('\n').matchAll(CERTIFICATE)].map(([, body = '']) => bare(body));
}

/** What is left of an option without these certificates. */
export const withoutCertificates = (option: unknown, removed: ReadonlySet<string>): readonly string[] =>
  partsOf(option)
    .filter(isText)
    .map((part) =>
      textOf(part).replace(CERTIFICATE, (block, body: string) => (removed.has(bare(body)) ? '' : block)),
    )
    .filter((text) => text.includes('-----BEGIN'));

/** Forgets the oldest text but one: the first is what a program read at start, and may use for as long as it runs. */
class Bounded extends Set<string> {
  override add(text: string): this {
    if (this.size >= MAX_KNOWN && !this.has(text)) this.delete([...this][1] ?? '');
    return super.add(text);
  }
}

/** Finds what a program has read from a followed file, in this version of the file or an earlier one. */
export class KnownTexts {
  readonly #path: string;
  readonly #pick: (certificates: readonly string[]) => readonly string[];
  readonly #known = new Bounded();
  readonly #looked = new Bounded();

  constructor(path: string, pick: (certificates: readonly string[]) => readonly string[]) {
    this.#path = path;
    this.#pick = pick;
  }

  add(pem: string | Uint8Array): void {
    const key = this.#pick(certificatesIn(pem)).join(' ');
    if (key !== '') this.#known.add(key);
  }

  has(option: unknown): boolean {
    return this.in(option).size > 0;
  }

  /** Whether the option has a certificate of a version of the file. */
  touches(option: unknown): boolean {
    this.in(option);
    const given = new Set(this.#pick(certificatesIn(option)));
    return [...this.#known].some((version) =>
      version.split(' ').some((certificate) => given.has(certificate)),
    );
  }

  /** The certificates of each version of the file that is in the option as a whole. */
  in(option: unknown): ReadonlySet<string> {
    const certificates = this.#pick(certificatesIn(option));
    const found = new Set<string>();
    if (certificates.length === 0) return found;
    const key = certificates.join(' ');
    if (!this.#known.has(key) && !this.#looked.has(key)) {
      this.#looked.add(key);
      this.#look();
    }
    const given = new Set(certificates);
    for (const version of this.#known) {
      const all = version.split(' ');
      if (all.every((certificate) => given.has(certificate)))
        for (const certificate of all) found.add(certificate);
    }
    return found;
  }

  /** The program may have read the file after a change that we have not loaded yet. */
  #look(): void {
    try {
      this.add(readFileSync(this.#path));
    } catch {
      // unreadable at this moment: the program has its text from elsewhere
    }
  }
}

/** The same CAs in any order. */
export const asSet = (certificates: readonly string[]): readonly string[] =>
  [...new Set(certificates)].sort();

/** The leaf alone: programs may leave out the chain. */
export const asLeaf = (certificates: readonly string[]): readonly string[] => certificates.slice(0, 1);
