/** One seed determines everything: xoshiro128** (Blackman and Vigna), seeded from a mixing counter. */
export class Random {
  #a: number;
  #b: number;
  #c: number;
  #d: number;

  constructor(seed: number) {
    let counter = seed | 0;
    const mix = (): number => {
      counter = (counter + 0x9e3779b9) | 0;
      let z = counter ^ (counter >>> 16);
      z = Math.imul(z, 0x21f0aaad);
      z ^= z >>> 15;
      z = Math.imul(z, 0x735a2d97);
      return (z ^ (z >>> 15)) >>> 0;
    };
    this.#a = mix();
    this.#b = mix();
    this.#c = mix();
    this.#d = mix() | 1; // all four zero would stay zero
  }

  #next(): number {
    const times5 = Math.imul(this.#b, 5);
    const result = Math.imul((times5 << 7) | (times5 >>> 25), 9) >>> 0;
    const t = this.#b << 9;
    this.#c ^= this.#a;
    this.#d ^= this.#b;
    this.#b ^= this.#c;
    this.#a ^= this.#d;
    this.#c ^= t;
    this.#d = (this.#d << 11) | (this.#d >>> 21);
    return result;
  }

  /** In [0, 1). */
  fraction(): number {
    return this.#next() / 0x1_0000_0000;
  }

  /** In [low, high), not rounded. */
  between(low: number, high: number): number {
    return low + this.fraction() * (high - low);
  }

  /** A whole number in [low, high]. */
  whole(low: number, high: number): number {
    return low + Math.floor(this.fraction() * (high - low + 1));
  }

  chance(probability: number): boolean {
    return this.fraction() < probability;
  }

  pick<T>(items: readonly [T, ...T[]]): T {
    return items[this.whole(0, items.length - 1)] ?? items[0];
  }
}
