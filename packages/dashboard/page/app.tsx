import { useEffect, useState } from 'preact/hooks';
import type { AuthorityPart } from '../src/document.ts';
import { headlineOf } from '../src/view/headline.ts';
import { counted, durationWords } from '../src/view/words.ts';
import { Authority } from './authority.tsx';
import { Expiries } from './expiries.tsx';
import { Log } from './log.tsx';
import { Plot } from './plot.tsx';
import { Rest } from './rest.tsx';
import type { State } from './store.ts';

const LINK = { connecting: 'connecting', live: 'live', lost: 'connection lost; reconnecting' } as const;

const useHash = (): string => {
  const [hash, setHash] = useState(location.hash);
  useEffect(() => {
    const heard = (): void => setHash(location.hash);
    addEventListener('hashchange', heard);
    return () => removeEventListener('hashchange', heard);
  }, []);
  return decodeURIComponent(hash.slice(1));
};

/** The time, once a second; not in background pages. */
const useNow = (): number => {
  const [now, setNow] = useState(Date.now());
  useEffect(() => {
    const timer = setInterval(() => {
      if (!document.hidden) setNow(Date.now());
    }, 1_000);
    return () => clearInterval(timer);
  }, []);
  return now;
};

const Masthead = ({ state, now }: { state: State; now: number }) => {
  const { about, figures, link } = state;
  return (
    <header class="masthead">
      <h1 class="wordmark">Handover</h1>
      <p class="place">{about?.title}</p>
      <dl class="tallies">
        {figures !== undefined && (
          <>
            <div>
              <dt>handshakes</dt>
              <dd data-tally="handshakes">{counted(figures.handshakes)}</dd>
            </div>
            <div class={figures.failures > 0 ? 'bad' : ''}>
              <dt>failed</dt>
              <dd data-tally="failures">{counted(figures.failures)}</dd>
            </div>
          </>
        )}
        <div>
          <dt>drift repaired</dt>
          <dd data-tally="repairs">{counted(about?.repairs ?? 0)}</dd>
        </div>
        <div>
          <dt>uptime</dt>
          <dd>{about === undefined ? '–' : durationWords(now - Date.parse(about.startedAt))}</dd>
        </div>
      </dl>
      <p class={`link-state ${link}`} role="status">
        {LINK[link]}
      </p>
    </header>
  );
};

const Index = ({ parts, chosen }: { parts: readonly AuthorityPart[]; chosen: string }) => (
  <nav class="index" aria-label="Authorities">
    <ul>
      {parts.map((part) => {
        const { tone } = headlineOf(part);
        const current = part.status.generations.find(({ role }) => role === 'current')?.generation;
        return (
          <li key={part.id}>
            <a
              href={`#${encodeURIComponent(part.id)}`}
              aria-current={part.id === chosen ? 'page' : undefined}
              class={tone}
            >
              <span class="id">{part.id}</span>
              <span class="phase">
                {part.status.phase} · CA generation {current ?? '–'}
              </span>
            </a>
          </li>
        );
      })}
    </ul>
  </nav>
);

export const App = ({ state }: { state: State }) => {
  const now = useNow();
  const hash = useHash();
  const parts = [...state.authorities.values()].sort((a, b) => (a.id < b.id ? -1 : 1));
  const chosen = state.authorities.get(hash) ?? parts[0];
  useEffect(() => {
    if (chosen !== undefined) document.title = `${chosen.status.phase} · ${chosen.id} · Handover`;
  }, [chosen?.id, chosen?.status.phase]);
  return (
    <>
      <Masthead state={state} now={now} />
      {state.about?.note != null && <p class="note">{state.about.note}</p>}
      {parts.length > 1 && <Index parts={parts} chosen={chosen?.id ?? ''} />}
      <main id="main" tabIndex={-1}>
        {chosen === undefined ? (
          <p class="empty">{state.link === 'live' ? 'No authority has been observed yet.' : ''}</p>
        ) : (
          <Authority key={chosen.id} part={chosen} now={now} />
        )}
        {state.figures !== undefined && <Plot figures={state.figures} />}
        <div class="pair">
          <Expiries parts={parts} now={now} />
          <Log entries={state.log} now={now} />
        </div>
        {state.rest !== undefined && <Rest rest={state.rest} />}
      </main>
    </>
  );
};
