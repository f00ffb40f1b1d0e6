import { useState } from 'preact/hooks';
import type { Cell, TrustGrid } from '../src/document.ts';
import { cellWords, gridView, totalWords } from '../src/view/grid.ts';
import { Scroll } from './scroll.tsx';

const MARK = { ok: '', assumed: '?', waits: '·', fails: '×' } as const;

const move = (
  key: string,
  [row, column]: readonly [number, number],
  rows: number,
  columns: number,
): readonly [number, number] | undefined => {
  const within = (value: number, size: number): number => Math.max(0, Math.min(size - 1, value));
  switch (key) {
    case 'ArrowUp':
      return [within(row - 1, rows), column];
    case 'ArrowDown':
      return [within(row + 1, rows), column];
    case 'ArrowLeft':
      return [row, within(column - 1, columns)];
    case 'ArrowRight':
      return [row, within(column + 1, columns)];
    case 'Home':
      return [row, 0];
    case 'End':
      return [row, columns - 1];
    default:
      return undefined;
  }
};

export const Grid = ({ trust }: { trust: TrustGrid }) => {
  const [at, setAt] = useState<readonly [number, number]>([0, 0]);
  const [told, setTold] = useState<readonly [number, number] | undefined>();
  const { rows, columns, cell, totals } = gridView(trust);
  const words = ([row, column]: readonly [number, number]): string => {
    const line = rows[row];
    const other = columns[column];
    return line === undefined || other === undefined
      ? ''
      : cellWords(line, other, cell(line, other), trust.step);
  };
  const go = (event: KeyboardEvent): void => {
    const next = move(event.key, at, rows.length, columns.length);
    if (next === undefined) return;
    event.preventDefault();
    setAt(next);
    const table = (event.currentTarget as HTMLElement | null)?.closest('table');
    table?.querySelector<HTMLElement>(`[data-at="${next[0]},${next[1]}"]`)?.focus();
  };
  return (
    <section class="trust" aria-labelledby="trust">
      <h2 id="trust">
        Trust between consumers <span class="count">{totalWords(totals)}</span>
      </h2>
      <Scroll labelledBy="trust">
        <table class={Math.max(rows.length, columns.length) > 9 ? 'grid' : 'grid few'}>
          <thead>
            <tr>
              <td class="corner">
                <span>presents ↓</span> <span>verifies →</span>
              </td>
              {columns.map(({ label, title }) => (
                <th key={title} scope="col" title={title}>
                  <span>{label}</span>
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {rows.map((row, y) => (
              <tr key={row.title}>
                <th scope="row" title={row.title}>
                  {row.label}
                </th>
                {columns.map((column, x) => {
                  const one: Cell = cell(row, column);
                  const place = `${y},${x}`;
                  return (
                    <td key={column.title}>
                      <button
                        type="button"
                        class="cell"
                        data-at={place}
                        data-now={one.now}
                        data-next={one.next ?? 'none'}
                        tabIndex={at[0] === y && at[1] === x ? 0 : -1}
                        aria-label={words([y, x])}
                        onFocus={() => {
                          setAt([y, x]);
                          setTold([y, x]);
                        }}
                        onMouseEnter={() => setTold([y, x])}
                        onKeyDown={go}
                      >
                        <span class="now" aria-hidden="true">
                          {MARK[one.now]}
                        </span>
                        {one.next !== null && <span class="next" aria-hidden="true" />}
                      </button>
                    </td>
                  );
                })}
              </tr>
            ))}
          </tbody>
        </table>
      </Scroll>
      <p class="told">
        {told === undefined
          ? trust.step === null
            ? 'Point at a square, or move there with the arrow keys, for details.'
            : `Each square shows the pair now, and in its corner the pair after this step: ${trust.step}.`
          : words(told)}
      </p>
      <ul class="legend" aria-label="Colours">
        <li>
          <i class="swatch ok" /> verifies
        </li>
        <li>
          <i class="swatch assumed">?</i> assumed: an owner says so, nothing shows it
        </li>
        <li>
          <i class="swatch waits">·</i> verifies; one side has not confirmed yet
        </li>
        <li>
          <i class="swatch fails">×</i> refused
        </li>
      </ul>
    </section>
  );
};
