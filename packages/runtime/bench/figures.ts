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

interface Rates {
  readonly base: number;
  readonly ours: number;
  readonly ratio: number;
}

/**
 * Runs both sides in turns, so that a neighbour on the machine disturbs both alike. A run's rate is the upper quartile
 * of its turns, since what disturbs a turn only ever slows it; its ratio is that of the two rates. The result is the
 * median of the runs.
 */
export async function interleaved(
  runs: number,
  turns: number,
  base: () => Promise<number>,
  ours: () => Promise<number>,
): Promise<Rates> {
  const results: Rates[] = [];
  for (let run = 0; run < runs; run++) {
    const baseRates: number[] = [];
    const ourRates: number[] = [];
    for (let turn = 0; turn < turns; turn++) {
      // the order alternates, so that neither side always pays for the other's garbage
      if (turn % 2 === 0) baseRates.push(await base());
      ourRates.push(await ours());
      if (turn % 2 === 1) baseRates.push(await base());
    }
    const [baseRate, ourRate] = [quantile(baseRates, 0.75), quantile(ourRates, 0.75)];
    results.push({ base: baseRate, ours: ourRate, ratio: ourRate / baseRate });
  }
  return {
    base: median(results.map(({ base }) => base)),
    ours: median(results.map(({ ours }) => ours)),
    ratio: median(results.map(({ ratio }) => ratio)),
  };
}

/** Runs per second of `count` calls, `width` at a time. */
export async function rate(count: number, width: number, call: () => Promise<unknown>): Promise<number> {
  const from = performance.now();
  await repeat(count, width, call);
  return count / ((performance.now() - from) / 1000);
}

/** Runs per second of this process's own processor time: what a core of its own would give, on a busy machine too. */
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
