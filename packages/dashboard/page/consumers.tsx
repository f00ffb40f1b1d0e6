import { useState } from 'preact/hooks';
import type { AuthorityPart } from '../src/document.ts';
import {
  consumerRows,
  countRows,
  countWords,
  EVIDENCE,
  type Row,
  rowsInSight,
} from '../src/view/consumers.ts';
import { durationWords, shortName } from '../src/view/words.ts';
import { Scroll } from './scroll.tsx';

/** As in page.css. */
const ROW = 30;
const HEIGHT = 450;
const MANY = 40;

const KIND: Readonly<Record<string, string>> = {
  hot: 'by itself',
  restart: 'by restart',
  field: 'API field',
  unknown: '',
};

const evidenceOf = ({ state, shows, waitsFor, evidence, remark }: Row): string => {
  if (state === 'wrong' && shows !== null) return shows;
  const given = evidence ?? 'none yet';
  return (
    waitsFor[0]?.replace(/^to /, 'has to ') ?? remark ?? (state === 'assumed' ? `assumed (${given})` : given)
  );
};

/** Why, and what it shows now. */
const titleOf = ({ shows, waitsFor, evidence }: Row): string | undefined => {
  const why = waitsFor.length > 0 ? waitsFor.join('; ') : evidence === null ? undefined : EVIDENCE[evidence];
  const all = [why, shows].filter((text) => text !== undefined && text !== null);
  return all.length === 0 ? undefined : all.join('; ');
};

/** The space of rows that are out of sight. */
const Gap = ({ rows }: { rows: number }) => (
  <tr>
    <td colSpan={4} style={{ height: `${rows * ROW}px` }} />
  </tr>
);

const Line = ({ row, now, index }: { row: Row; now: number; index: number }) => {
  const waits = row.waitsFor.length > 0;
  return (
    <tr class={row.state} data-state={row.state} aria-rowindex={index + 2} data-consumer={row.name}>
      <th scope="row" title={row.name}>
        {shortName(row.name)}
      </th>
      <td class="kind">{KIND[row.kind] ?? row.kind}</td>
      <td class="evidence" title={titleOf(row)}>
        {evidenceOf(row)}
      </td>
      <td class="age">{row.at === null || waits ? '' : durationWords(now - row.at)}</td>
    </tr>
  );
};

export const Consumers = ({ part, now }: { part: AuthorityPart; now: number }) => {
  const [filter, setFilter] = useState('');
  const [scroll, setScroll] = useState(0);
  const all = part.status.consumers.length;
  const rows = consumerRows(part, filter);
  const many = rows.length > MANY;
  const { first, end } = many
    ? rowsInSight(rows.length, ROW, scroll, HEIGHT)
    : { first: 0, end: rows.length };
  return (
    <section class="consumers" aria-labelledby="consumers">
      <h2 id="consumers">
        Evidence <span class="count">{countWords(countRows(rows))}</span>
      </h2>
      {all > 12 && (
        <label class="filter">
          <span>Find</span>
          <input
            type="search"
            value={filter}
            onInput={(event) => setFilter(event.currentTarget.value)}
            placeholder="by name"
          />
        </label>
      )}
      <Scroll labelledBy="consumers" tall={many} onScroll={(top) => many && setScroll(top)}>
        <table aria-rowcount={rows.length + 1}>
          <thead>
            <tr>
              <th scope="col">consumer</th>
              <th scope="col" class="kind">
                reloads
              </th>
              <th scope="col">evidence</th>
              <th scope="col" class="age">
                since
              </th>
            </tr>
          </thead>
          <tbody>
            {first > 0 && <Gap rows={first} />}
            {rows.slice(first, end).map((row, index) => (
              <Line key={row.name} row={row} now={now} index={first + index} />
            ))}
            {end < rows.length && <Gap rows={rows.length - end} />}
          </tbody>
        </table>
        {rows.length === 0 && (
          <p class="quiet">{filter === '' ? 'No consumer is known.' : 'No consumer has that name.'}</p>
        )}
      </Scroll>
    </section>
  );
};
