import { useState } from 'preact/hooks';
import type { LogEntry } from '../src/document.ts';
import { momentOf } from '../src/view/words.ts';
import { Scroll } from './scroll.tsx';

const NAME = { step: 'step', write: 'write', roll: 'restart', repair: 'repair', failure: 'failure' } as const;
const FEW = 10;

export const Log = ({ entries, now }: { entries: readonly LogEntry[]; now: number }) => {
  const [kinds, setKinds] = useState<'all' | 'repair'>('all');
  const shown = entries.filter(({ kind }) => kinds === 'all' || kind === kinds);
  return (
    <section class="log" aria-labelledby="log">
      <h2 id="log">Log</h2>
      <fieldset class="choice">
        <legend class="hidden">Show</legend>
        {(['all', 'repair'] as const).map((value) => (
          <label key={value}>
            <input type="radio" name="kinds" checked={kinds === value} onChange={() => setKinds(value)} />
            <span>{value === 'all' ? 'everything' : 'drift repairs'}</span>
          </label>
        ))}
      </fieldset>
      <Scroll labelledBy="log" tall={shown.length > FEW}>
        <ol>
          {shown.map(({ number, at, kind, about, text }) => (
            <li key={number} class={kind}>
              <time dateTime={at}>{momentOf(Date.parse(at), now)}</time>
              <span class="kind">{NAME[kind]}</span>
              <span class="text">
                {(kind === 'repair' || kind === 'failure') && <b>{about}: </b>}
                {text}
              </span>
            </li>
          ))}
        </ol>
        {shown.length === 0 && (
          <p class="quiet">
            {kinds === 'all'
              ? 'Nothing since this process started.'
              : 'No other program has changed these objects.'}
          </p>
        )}
      </Scroll>
    </section>
  );
};
