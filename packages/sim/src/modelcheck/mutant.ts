/** One rule of the planner removed or inverted, as a change to one line of its build. */
export interface Mutant {
  readonly name: string;
  readonly file: string;
  readonly from: string;
  readonly to: string;
  /** Worlds to try, in this order; one of them must catch it. */
  readonly worlds: readonly string[];
}
