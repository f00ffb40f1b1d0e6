import { X509Certificate } from 'node:crypto';
import { type Leaf, MockCa } from '../../../packages/runtime/src/testing/mock-ca.ts';

const MINUTE = 60_000;

/** Certificates and keys of one case, made when they are first named: `ca:old`, `leaf:old/a`, `key:old/a`, `expired:old/x`. */
export class Material {
  readonly #cas = new Map<string, MockCa>();
  readonly #leaves = new Map<string, Leaf>();
  #expired = new Set<string>();

  /** Expired leaves of a case must be known before their keys are asked for. */
  constructor(text: string) {
    for (const [, name] of text.matchAll(/expired:([\w/]+)/g)) this.#expired.add(name ?? '');
  }

  /** The text of one part. */
  text(part: string): string {
    const [kind = '', ...rest] = part.split(':');
    const name = rest.join(':');
    switch (kind) {
      case 'ca':
        return this.#ca(name).pem;
      case 'leaf':
      case 'expired':
        return this.pair(name).cert;
      case 'key':
        return this.pair(name).key;
      case 'half': {
        const whole = this.text(name);
        return whole.slice(0, whole.length / 2);
      }
      case 'lines':
        return '#\n'.repeat(Number(name) / 2);
      default:
        throw new Error(`cases.json: no part is called ${part}`);
    }
  }

  texts(parts: readonly string[]): string {
    return parts.map((part) => this.text(part)).join('');
  }

  /** Certificate and key of a leaf, `old/a`. */
  pair(name: string): Leaf {
    const known = this.#leaves.get(name);
    if (known !== undefined) return known;
    const notAfter = this.#expired.has(name) ? Date.now() - MINUTE : undefined;
    const leaf = this.#ca(name.split('/')[0] ?? '').leaf(notAfter === undefined ? {} : { notAfter });
    this.#leaves.set(name, leaf);
    return leaf;
  }

  /** SHA-256, lower-case hex. */
  fingerprint(part: string): string {
    return fingerprintOf(new X509Certificate(this.text(part)).fingerprint256);
  }

  #ca(name: string): MockCa {
    const known = this.#cas.get(name) ?? new MockCa(name);
    this.#cas.set(name, known);
    return known;
  }
}

export const fingerprintOf = (text: string): string => text.replaceAll(':', '').toLowerCase();
