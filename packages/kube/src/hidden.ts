import { Unprintable } from '@handover/material';

/** A text that does not print: a token, password or key. */
export class Hidden extends Unprintable {
  readonly #text: string;

  constructor(text: string) {
    super('[hidden]');
    this.#text = text;
  }

  reveal(): string {
    return this.#text;
  }
}
