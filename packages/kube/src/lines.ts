const NEWLINE = 10;

/** Cuts a stream of bytes into lines. A line over the bound is an error, so that it cannot fill the memory. */
export class Lines {
  readonly #maxBytes: number;
  readonly #line: (line: Buffer) => void;
  readonly #tooLong: () => Error;
  #parts: Buffer[] = [];
  #size = 0;

  constructor(maxBytes: number, line: (line: Buffer) => void, tooLong: () => Error) {
    this.#maxBytes = maxBytes;
    this.#line = line;
    this.#tooLong = tooLong;
  }

  push(chunk: Buffer): void {
    let start = 0;
    for (let end = chunk.indexOf(NEWLINE); end >= 0; end = chunk.indexOf(NEWLINE, start)) {
      const piece = chunk.subarray(start, end);
      start = end + 1;
      if (this.#size === 0) {
        if (piece.length > 0) this.#line(piece);
        continue;
      }
      const whole = Buffer.concat([...this.#parts, piece]);
      this.#parts = [];
      this.#size = 0;
      this.#line(whole);
    }
    if (start < chunk.length) {
      const rest = chunk.subarray(start);
      this.#size += rest.length;
      if (this.#size > this.#maxBytes) throw this.#tooLong();
      this.#parts.push(rest);
    }
  }
}
