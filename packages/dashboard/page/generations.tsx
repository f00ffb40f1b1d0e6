import type { AuthorityPart } from '../src/document.ts';
import { retainedWords } from '../src/view/retained.ts';
import { timelineOf } from '../src/view/timeline.ts';
import { dayOf, durationWords, momentOf } from '../src/view/words.ts';

const ROLE = {
  next: 'distributed, does not sign yet',
  current: 'signs',
  previous: 'trusted, no longer signs',
  retained: 'trusted without its key',
  distrusted: 'distrusted',
} as const;
const percent = (share: number): string => `${(share * 100).toFixed(2)}%`;

export const Generations = ({ part, now }: { part: AuthorityPart; now: number }) => {
  const { lanes, ticks } = timelineOf(part.history, now);
  const retained = retainedWords(part, now);
  const details = new Map(part.status.generations.map((one) => [one.generation, one]));
  return (
    <section class="generations" aria-labelledby="generations">
      <h2 id="generations">CA generations</h2>
      <ol class="lanes">
        {lanes.map(({ generation, bars }) => {
          const one = details.get(generation);
          return (
            <li key={generation} class={one === undefined ? 'gone' : ''} data-generation={generation}>
              <span class="number">{generation}</span>
              <span class="facts">
                {one === undefined ? (
                  'retired, key destroyed'
                ) : (
                  <>
                    <code title={`SHA-256 ${one.fingerprint}`}>{one.fingerprint.slice(0, 8)}</code> until{' '}
                    {dayOf(Date.parse(one.notAfter))}
                  </>
                )}
              </span>
              <span class="bars">
                {bars.map(({ role, from, to, left, width, open, known }) => (
                  <span
                    key={`${role} ${from}`}
                    class={`bar ${role} ${known} ${open ? 'open' : ''}`}
                    style={{ left: percent(left), width: percent(width) }}
                    role="img"
                    aria-label={`CA generation ${generation} ${ROLE[role]}, from ${momentOf(from, now)}, ${durationWords(to - from)}${open ? ' so far' : ''}`}
                    title={`${ROLE[role]} · from ${momentOf(from, now)} · ${durationWords(to - from)}${open ? ' so far' : ''}`}
                  >
                    {width > 0.07 && <span class="length">{durationWords(to - from)}</span>}
                  </span>
                ))}
              </span>
            </li>
          );
        })}
      </ol>
      <p class="ticks" aria-hidden="true">
        {ticks.map(({ at, left }) => (
          <span key={at} style={{ left: percent(left) }}>
            {momentOf(at, now)}
          </span>
        ))}
        <span class="today">now</span>
      </p>
      {retained.length > 0 && (
        <ul class="retained-for">
          {retained.map((sentence) => (
            <li key={sentence}>{sentence}</li>
          ))}
        </ul>
      )}
      <p class="key">
        <span class="bar next" /> distributed, does not sign yet <span class="bar current" /> signs{' '}
        <span class="bar previous" /> trusted, no longer signs <span class="bar retained" /> trusted, its key
        destroyed. Long periods are drawn shorter. This process started at{' '}
        {momentOf(Date.parse(part.history.watchedSince), now)}; earlier roles come from the authority’s state,
        which does not keep all of them.
      </p>
    </section>
  );
};
