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

/**
 * Runs both sides in turns, so that a neighbour on the machine disturbs both alike. A run's ratio is the median over its
 * pairs of turns: one turn that was disturbed does not count. The result is the median of the runs.
 */
export async function interleaved(
  runs: number,
  pairs: number,
  base: () => Promise<number>,
  ours: () => Promise<number>,
): Promise<{ base: number; ours: number; ratio: number }> {
  const results: { base: number; ours: number; ratio: number }[] = [];
  for (let run = 0; run < runs; run++) {
    const turns: { base: number; ours: number; ratio: number }[] = [];
    for (let pair = 0; pair < pairs; pair++) {
      // who goes first changes, lest one side always meets the other's garbage
      const first = await (pair % 2 === 0 ? base : ours)();
      const second = await (pair % 2 === 0 ? ours : base)();
      const [baseRate, ourRate] = pair % 2 === 0 ? [first, second] : [second, first];
      turns.push({ base: baseRate, ours: ourRate, ratio: ourRate / baseRate });
    }
    results.push(mid(turns));
  }
  return mid(results);
}

const mid = (results: readonly { base: number; ours: number; ratio: number }[]) => ({
  base: median(results.map(({ base }) => base)),
  ours: median(results.map(({ ours }) => ours)),
  ratio: median(results.map(({ ratio }) => ratio)),
});

/** Runs per second of `count` calls, `width` at a time. */
export async function rate(count: number, width: number, call: () => Promise<unknown>): Promise<number> {
  const from = performance.now();
  await repeat(count, width, call);
  return count / ((performance.now() - from) / 1000);
}

/** Runs per second of this process's own processor time: what a core to itself would give, whoever else is on it. */
export async function cpuRate(count: number, width: number, call: () => Promise<unknown>): Promise<number> {
  const from = process.cpuUsage();
  await repeat(count, width, call);
  const { user, system } = process.cpuUsage(from);
  return count / ((user + system) / 1e6);
}

async function repeat(count: number, width: number, call: () => Promise<unknown>): Promise<void> {
  let left = count;
  await Promise.all(
    Array.from({ length: width }, async () => {
      while (left-- > 0) await call();
    }),
  );
}
