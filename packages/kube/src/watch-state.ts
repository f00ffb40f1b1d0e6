/** How a list is read: as one stream, page by page, or in one answer. */
export type ListMode = 'stream' | 'pages' | 'whole';

/** Why a list or a watch failed. */
export type WatchError =
  /** 410: the server has forgotten the version, or the page. */
  | { readonly kind: 'gone' }
  /** The server has no streaming lists. */
  | { readonly kind: 'unsupported' }
  /** No answer, or a broken connection: asking again costs the server nothing. */
  | { readonly kind: 'unreachable' }
  /** The server sent nothing for too long. */
  | { readonly kind: 'silent' }
  /** The server answered with an error. `after`: milliseconds that it asked to wait. */
  | { readonly kind: 'refused'; readonly after?: number };

/** The states of a watch. `failures`: consecutive, without progress in between. */
export type WatchState =
  | { readonly at: 'idle' }
  | { readonly at: 'listing'; readonly mode: ListMode; readonly failures: number }
  | { readonly at: 'watching'; readonly mode: ListMode; readonly from: string; readonly failures: number }
  | { readonly at: 'waiting'; readonly delay: number; readonly next: Resumable }
  | { readonly at: 'stopped' };

export type Resumable = Extract<WatchState, { readonly at: 'listing' | 'watching' }>;

export type WatchInput =
  | { readonly is: 'start'; readonly mode: ListMode }
  | { readonly is: 'listed'; readonly version: string }
  /** An event or a bookmark. */
  | { readonly is: 'progressed'; readonly version: string }
  /** The server ended the watch. `barren`: at once, and without an event. */
  | { readonly is: 'ended'; readonly barren: boolean }
  | { readonly is: 'failed'; readonly trouble: WatchError }
  | { readonly is: 'waited' }
  | { readonly is: 'stop' };

const FIRST_MS = 250;
/** A refused connection is cheap: try often, to notice within a second that the server is back. */
const MAX_UNREACHABLE_MS = 1_000;
const MAX_REFUSED_MS = 30_000;

/** Doubles, then takes between half and all of it, so that many clients do not return together. */
export function backoff(failures: number, max: number, random: number): number {
  const full = Math.min(max, FIRST_MS * 2 ** Math.min(failures, 20));
  return full / 2 + (full / 2) * random;
}

const again = (state: Resumable): Resumable => ({ ...state, failures: state.failures + 1 });

const waiting = (next: Resumable, delay: number): WatchState => ({ at: 'waiting', delay, next });

function afterTrouble(state: Resumable, trouble: WatchError, random: number): WatchState {
  const next = again(state);
  const { failures } = state;
  switch (trouble.kind) {
    case 'gone': {
      // When pages expire twice in a row, the list is read in one answer, as in client-go.
      const paged = state.at === 'listing' && state.mode === 'pages';
      const mode = paged && failures > 0 ? 'whole' : state.mode;
      const list: Resumable = { at: 'listing', mode, failures: failures + 1 };
      return failures === 0 ? list : waiting(list, backoff(failures, MAX_REFUSED_MS, random));
    }
    case 'unsupported':
      return { at: 'listing', mode: 'pages', failures };
    case 'silent':
      return failures === 0 ? next : waiting(next, backoff(failures, MAX_REFUSED_MS, random));
    case 'unreachable':
      return waiting(next, backoff(failures, MAX_UNREACHABLE_MS, random));
    case 'refused':
      return waiting(next, Math.max(backoff(failures, MAX_REFUSED_MS, random), trouble.after ?? 0));
    default:
      return trouble satisfies never;
  }
}

/** The next state. No error is final: only `stop` leads to `stopped`, and no input leads out of it. */
export function step(state: WatchState, input: WatchInput, random: number): WatchState {
  if (input.is === 'stop' || state.at === 'stopped') return { at: 'stopped' };
  switch (state.at) {
    case 'idle':
      return input.is === 'start' ? { at: 'listing', mode: input.mode, failures: 0 } : state;
    case 'waiting':
      return input.is === 'waited' ? state.next : state;
    case 'listing':
      if (input.is === 'listed') {
        const mode = state.mode === 'whole' ? 'pages' : state.mode;
        return { at: 'watching', mode, from: input.version, failures: 0 };
      }
      break;
    case 'watching':
      if (input.is === 'progressed') return { ...state, from: input.version, failures: 0 };
      break;
    default:
      return state satisfies never;
  }
  if (input.is === 'failed') return afterTrouble(state, input.trouble, random);
  if (input.is === 'ended') {
    if (!input.barren && state.at === 'watching') return { ...state, failures: 0 };
    return waiting(again(state), backoff(state.failures, MAX_REFUSED_MS, random));
  }
  return state;
}
