/** When calls got through, in each direction; times of `performance.now()`. */
export class Heard {
  readonly #times = new Map<string, number[]>();

  add(direction: string): void {
    const times = this.#times.get(direction) ?? [];
    this.#times.set(direction, times);
    times.push(performance.now());
  }

  /** The longest time in seconds without one: between two, before the first and after the last. */
  longestGap(direction: string, from: number, to: number): number {
    let [last, longest] = [from, 0];
    for (const at of [...(this.#times.get(direction) ?? []).filter((time) => time > from && time < to), to]) {
      longest = Math.max(longest, at - last);
      last = at;
    }
    return longest / 1_000;
  }
}
