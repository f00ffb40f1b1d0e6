import { inspect } from 'node:util';

/** A secret that cannot be printed, logged or serialised by accident: a fixed word stands for it. */
export abstract class Unprintable<Word extends string = string> {
  readonly #word: Word;

  constructor(word: Word) {
    this.#word = word;
  }

  toString(): Word {
    return this.#word;
  }

  toJSON(): Word {
    return this.#word;
  }

  [inspect.custom](): Word {
    return this.#word;
  }
}
