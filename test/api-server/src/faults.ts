/** A request, as a fault sees it. */
export interface SeenRequest {
  readonly method: string;
  /** Without the query. */
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly watch: boolean;
}

export type Fault = {
  /** Default: every request. */
  readonly when?: (request: SeenRequest) => boolean;
  /** How many requests. Default 1. */
  readonly times?: number;
} & (
  | {
      /** The answer; the request is not carried out. */
      readonly status: number;
      readonly reason?: string;
      readonly message?: string;
      readonly headers?: Readonly<Record<string, string>>;
    }
  /** `hang`: no answer. `reset`: the connection is cut. `lose`: the request is carried out, but not answered. */
  | { readonly does: 'hang' | 'reset' | 'lose' }
);

/** Faults on demand, first come, first served. */
export class Faults {
  #pending: { readonly fault: Fault; left: number }[] = [];

  add(fault: Fault): void {
    this.#pending.push({ fault, left: fault.times ?? 1 });
  }

  clear(): void {
    this.#pending = [];
  }

  take(request: SeenRequest): Fault | undefined {
    const found = this.#pending.find(({ fault }) => fault.when?.(request) ?? true);
    if (found === undefined) return undefined;
    found.left--;
    if (found.left <= 0) this.#pending = this.#pending.filter((one) => one !== found);
    return found.fault;
  }
}
