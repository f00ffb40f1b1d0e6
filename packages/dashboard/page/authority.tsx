import type { AuthorityPart } from '../src/document.ts';
import { consumerRows, countRows, countWords } from '../src/view/consumers.ts';
import { gridView } from '../src/view/grid.ts';
import { dueWords, headlineOf, stationsOf } from '../src/view/headline.ts';
import { durationWords } from '../src/view/words.ts';
import { Consumers } from './consumers.tsx';
import { Generations } from './generations.tsx';
import { Grid } from './grid.tsx';
import { Hooks } from './hooks.tsx';

const Track = ({ part }: { part: AuthorityPart }) => {
  const stations = stationsOf(part);
  if (stations.length === 0) return null;
  const rows = consumerRows(part);
  const all = rows.length;
  const shown = rows.filter(({ waitsFor }) => waitsFor.length === 0).length;
  const words = countWords(countRows(rows));
  return (
    <ol class="track" aria-label="Steps of this rotation">
      {stations.map(({ name, what, state }) => (
        <li key={name} class={state} aria-current={state === 'now' ? 'step' : undefined}>
          <span class="name">{name}</span>
          <span class="what">{what}</span>
          {state === 'now' && name !== 'Retire' && (
            <span class="gate">
              <meter
                min={0}
                max={Math.max(all, 1)}
                value={shown}
                aria-label={`${shown} of ${all} consumers: ${words}`}
              />
              <span>
                {shown} of {all} consumers: {words}
              </span>
            </span>
          )}
        </li>
      ))}
    </ol>
  );
};

const MOST_WAITS = 8;
/** Columns of the grid that fit beside the list of consumers. */
const MOST_BESIDE = 9;

const Blockers = ({ part, now }: { part: AuthorityPart; now: number }) => {
  const { waits } = part;
  const { notes } = part.status;
  if (waits.length === 0 && notes.length === 0) return null;
  return (
    <section class="blockers" aria-labelledby="blockers">
      <h2 id="blockers">What the next step waits for</h2>
      <ul>
        {waits.slice(0, MOST_WAITS).map(({ sentence, since }) => (
          <li key={sentence}>
            {sentence} <span class="quiet">for {durationWords(now - Date.parse(since))}</span>
          </li>
        ))}
        {waits.length > MOST_WAITS && <li class="quiet">and {waits.length - MOST_WAITS} more</li>}
        {notes.slice(0, 8).map((note) => (
          <li key={note}>{note}</li>
        ))}
      </ul>
    </section>
  );
};

export const Authority = ({ part, now }: { part: AuthorityPart; now: number }) => {
  const { tone, line, detail } = headlineOf(part);
  const due = dueWords(part, now);
  return (
    <article class={`authority ${tone}`} data-authority={part.id} data-phase={part.status.phase}>
      <div class="headline">
        <p class="eyebrow">
          <span class="id">{part.id}</span> <span class={`phase ${tone}`}>{part.status.phase}</span>
        </p>
        <p class="line" aria-live="polite">
          {line}
        </p>
        <p class="detail">
          {detail}
          {due !== '' && <span class="quiet due"> {due}</span>}
        </p>
      </div>
      <Track part={part} />
      <Blockers part={part} now={now} />
      <Hooks part={part} now={now} />
      <div class={gridView(part.trust).columns.length > MOST_BESIDE ? 'pair stacked' : 'pair wide-left'}>
        <Consumers part={part} now={now} />
        <Grid trust={part.trust} />
      </div>
      <Generations part={part} now={now} />
    </article>
  );
};
