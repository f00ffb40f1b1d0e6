/** One line of the result. `bound` is what must hold; without one it is only told. */
export interface Figure {
  readonly name: string;
  readonly value: number;
  readonly unit: string;
  readonly bound?: { readonly least?: number; readonly most?: number };
  readonly note?: string;
}

export const sorted = (values: readonly number[]): number[] => [...values].sort((a, b) => a - b);

export const quantile = (values: readonly number[], q: number): number => {
  const order = sorted(values);
  return order[Math.min(order.length - 1, Math.floor(q * order.length))] ?? Number.NaN;
};

export const median = (values: readonly number[]): number => quantile(values, 0.5);

export const holds = ({ value, bound }: Figure): boolean =>
  Number.isFinite(value) &&
  value >= (bound?.least ?? Number.NEGATIVE_INFINITY) &&
  value <= (bound?.most ?? Number.POSITIVE_INFINITY);

const boundText = ({ bound }: Figure): string =>
  bound === undefined
    ? ''
    : [bound.least === undefined ? '' : `≥ ${bound.least}`, bound.most === undefined ? '' : `≤ ${bound.most}`]
        .filter(Boolean)
        .join(', ');

export const row = (figure: Figure): string => {
  const value = Number.isInteger(figure.value) ? figure.value : Number(figure.value.toPrecision(3));
  const verdict = figure.bound === undefined ? '' : holds(figure) ? 'ok' : 'MISSED';
  return `| ${figure.name} | ${value} ${figure.unit} | ${boundText(figure)} | ${verdict} | ${figure.note ?? ''} |`;
};

/** Runs both sides in turns, so that a neighbour on the machine disturbs both alike. Ratios are within a run. */
export async function interleaved(
  runs: number,
  slices: number,
  base: () => Promise<number>,
  ours: () => Promise<number>,
): Promise<{ base: number; ours: number; ratio: number }> {
  const results: { base: number; ours: number; ratio: number }[] = [];
  for (let run = 0; run < runs; run++) {
    let baseRate = 0;
    let ourRate = 0;
    for (let slice = 0; slice < slices; slice++) {
      // who goes first changes, lest one side always meets the other's garbage
      if (slice % 2 === 0) {
        baseRate += await base();
        ourRate += await ours();
      } else {
        ourRate += await ours();
        baseRate += await base();
      }
    }
    results.push({ base: baseRate / slices, ours: ourRate / slices, ratio: ourRate / baseRate });
  }
  return {
    base: median(results.map((result) => result.base)),
    ours: median(results.map((result) => result.ours)),
    ratio: median(results.map((result) => result.ratio)),
  };
}

/** Runs per second of `count` calls, `width` at a time. */
export async function rate(count: number, width: number, call: () => Promise<unknown>): Promise<number> {
  let left = count;
  const from = performance.now();
  await Promise.all(
    Array.from({ length: width }, async () => {
      while (left-- > 0) await call();
    }),
  );
  return count / ((performance.now() - from) / 1000);
}
