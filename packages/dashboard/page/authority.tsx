import type { AuthorityPart } from '../src/document.ts';
import { headlineOf, stationsOf, waitingFor } from '../src/view/headline.ts';
import { lengthOf } from '../src/view/words.ts';
import { Consumers } from './consumers.tsx';
import { Generations } from './generations.tsx';
import { Grid } from './grid.tsx';

const Track = ({ part }: { part: AuthorityPart }) => {
  const stations = stationsOf(part);
  if (stations.length === 0) return null;
  const all = Math.max(part.status.consumers.length, waitingFor(part).length);
  const shown = all - waitingFor(part).length;
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
                aria-label={`${shown} of ${all} have shown it`}
              />
              <span>
                {shown} of {all} have shown it
              </span>
            </span>
          )}
        </li>
      ))}
    </ol>
  );
};

const Blockers = ({ part, now }: { part: AuthorityPart; now: number }) => {
  const { blockedBy, notes } = part.status;
  if (blockedBy.length === 0 && notes.length === 0) return null;
  const more = part.blockers - blockedBy.length;
  return (
    <section class="blockers" aria-labelledby="blockers">
      <h2 id="blockers">What holds it up</h2>
      <ul>
        {blockedBy.slice(0, 8).map(({ consumer, waitsFor, since }) => (
          <li key={`${consumer} ${waitsFor}`}>
            <b>{consumer}</b> is awaited: the next step needs {waitsFor}.{' '}
            <span class="quiet">for {lengthOf(now - Date.parse(since))}</span>
          </li>
        ))}
        {(blockedBy.length > 8 || more > 0) && (
          <li class="quiet">and {part.blockers - Math.min(8, blockedBy.length)} more</li>
        )}
        {notes.slice(0, 8).map((note) => (
          <li key={note}>{note}</li>
        ))}
      </ul>
    </section>
  );
};

export const Authority = ({ part, now }: { part: AuthorityPart; now: number }) => {
  const { tone, line, detail } = headlineOf(part);
  const { wakeAt } = part.status;
  const due = wakeAt === null ? 0 : Date.parse(wakeAt) - now;
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
          {due > 1_000 && due < 600_000 && (
            <span class="quiet"> In {lengthOf(due)} it looks again, even if nobody stirs.</span>
          )}
        </p>
      </div>
      <Track part={part} />
      <Blockers part={part} now={now} />
      <div class="pair wide-left">
        <Consumers part={part} now={now} />
        <Grid trust={part.trust} />
      </div>
      <Generations part={part} now={now} />
    </article>
  );
};
