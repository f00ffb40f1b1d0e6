import type { AuthorityPart } from '../src/document.ts';
import { durationWords } from '../src/view/words.ts';

const MOST_HOOKS = 12;
const STATE = { done: 'done', failed: 'failed', due: 'has yet to run', idle: 'not needed yet' } as const;

/** What tells programs of new files, and how that went. Those that failed come first. */
export const Hooks = ({ part, now }: { part: AuthorityPart; now: number }) => {
  const { hooks } = part.status;
  if (hooks.length === 0) return null;
  const sorted = [...hooks].sort((a, b) => Number(b.state === 'failed') - Number(a.state === 'failed'));
  return (
    <section class="hooks" aria-labelledby="hooks">
      <h2 id="hooks">Reload hooks</h2>
      <ul>
        {sorted.slice(0, MOST_HOOKS).map(({ hook, how, state, at, message, nextTry }) => (
          <li key={hook} data-hook={hook} data-state={state}>
            {hook} <span class="quiet">({how})</span> {STATE[state]}
            {message === null ? '' : `: ${message}`}
            {at !== null && <span class="quiet"> {durationWords(now - Date.parse(at))} ago</span>}
            {nextTry !== null && Date.parse(nextTry) > now && (
              <span class="quiet">, next try in {durationWords(Date.parse(nextTry) - now)}</span>
            )}
          </li>
        ))}
        {hooks.length > MOST_HOOKS && <li class="quiet">and {hooks.length - MOST_HOOKS} more</li>}
      </ul>
    </section>
  );
};
