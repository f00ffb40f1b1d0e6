/** One line of the result. Without a `bound` it is only printed. */
export interface Figure {
  readonly name: string;
  readonly value: number;
  readonly unit: string;
  readonly bound?: { readonly least?: number; readonly most?: number };
  readonly note?: string;
}

export const quantile = (values: readonly number[], q: number): number => {
  const order = [...values].sort((a, b) => a - b);
  return order[Math.min(order.length - 1, Math.floor(q * order.length))] ?? Number.NaN;
};

export const holds = ({ value, bound }: Figure): boolean =>
  Number.isFinite(value) &&
  value >= (bound?.least ?? Number.NEGATIVE_INFINITY) &&
  value <= (bound?.most ?? Number.POSITIVE_INFINITY);

export const row = (figure: Figure): string => {
  const { bound, note = '' } = figure;
  const value = Number.isInteger(figure.value) ? figure.value : Number(figure.value.toPrecision(3));
  const limits = [
    bound?.least === undefined ? '' : `≥ ${bound.least}`,
    bound?.most === undefined ? '' : `≤ ${bound.most}`,
  ];
  const verdict = bound === undefined ? '' : holds(figure) ? 'ok' : 'MISSED';
  return `| ${figure.name} | ${value} ${figure.unit} | ${limits.filter(Boolean).join(', ')} | ${verdict} | ${note} |`;
};

/** Calls per second of `count` calls, `width` at a time. */
export async function rate(count: number, width: number, call: () => Promise<unknown>): Promise<number> {
  const from = performance.now();
  let left = count;
  await Promise.all(
    Array.from({ length: width }, async () => {
      while (left-- > 0) await call();
    }),
  );
  return count / ((performance.now() - from) / 1000);
}
