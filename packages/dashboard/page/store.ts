import type { AuthorityPart, DocumentParts } from '../src/document.ts';

export interface State {
  readonly link: 'connecting' | 'live' | 'lost';
  readonly about: DocumentParts['about'] | undefined;
  readonly authorities: ReadonlyMap<string, AuthorityPart>;
  readonly rest: DocumentParts['rest'] | undefined;
  readonly log: DocumentParts['log'];
  readonly figures: DocumentParts['figures'] | undefined;
}

const EMPTY: State = {
  link: 'connecting',
  about: undefined,
  authorities: new Map(),
  rest: undefined,
  log: [],
  figures: undefined,
};

const LEAST_WAIT_MS = 1_000;
const MOST_WAIT_MS = 15_000;

/** Follows `/api/events`. Collects parts until the server has sent all of them, then calls the listener once. */
export const follow = (listener: (state: State) => void): void => {
  let state = EMPTY;
  let wait = LEAST_WAIT_MS;
  const tell = (): void => listener(state);
  const connect = (): void => {
    const source = new EventSource('/api/events');
    const on = <Name extends keyof DocumentParts>(
      name: Name,
      take: (part: DocumentParts[Name]) => void,
    ): void => source.addEventListener(name, (event: MessageEvent<string>) => take(JSON.parse(event.data)));
    on('about', (about) => {
      const kept = [...state.authorities].filter(([id]) => about.authorities.includes(id));
      state = { ...state, about, authorities: new Map(kept) };
    });
    on('authority', (part) => {
      state = { ...state, authorities: new Map(state.authorities).set(part.id, part) };
    });
    on('rest', (rest) => {
      state = { ...state, rest };
    });
    on('log', (log) => {
      state = { ...state, log };
    });
    on('figures', (figures) => {
      state = { ...state, figures };
    });
    source.addEventListener('whole', () => {
      wait = LEAST_WAIT_MS;
      state = { ...state, link: 'live' };
      tell();
    });
    source.onerror = () => {
      state = { ...state, link: 'lost' };
      tell();
      // A lost connection is taken up again by the browser; a refused one is not.
      if (source.readyState !== EventSource.CLOSED) return;
      setTimeout(connect, wait);
      wait = Math.min(wait * 2, MOST_WAIT_MS);
    };
  };
  connect();
};
