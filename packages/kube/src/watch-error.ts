import type { HandoverError } from '@handover/material';
import { type ApiStatus, apiCause } from './api-error.ts';
import { isCode } from './error.ts';
import type { WatchError, WatchState } from './watch-state.ts';

const NO_STREAM = ['KUBE_STREAM_UNSUPPORTED', 'KUBE_INVALID', 'KUBE_BAD_REQUEST'];

/** What an error means to the state machine of a watch. An unknown error is a refusal: wait and try again. */
export function classifyWatchError(error: Error, state: WatchState): WatchError {
  if (isCode(error, 'KUBE_GONE')) return { kind: 'gone' };
  if (isCode(error, 'KUBE_WATCH_SILENT')) return { kind: 'silent' };
  const streaming = state.at === 'listing' && state.mode === 'stream';
  if (streaming && NO_STREAM.includes((error as HandoverError).code)) return { kind: 'unsupported' };
  if (apiCause(error) === undefined)
    return { kind: isCode(error, 'KUBE_UNAVAILABLE') ? 'unreachable' : 'refused' };
  const { causes, retryAfterSeconds } = (error.cause as ApiStatus).details ?? {};
  // A server restored from a backup has lower versions than this informer. Its list is the truth now.
  if (causes?.some(({ reason }) => reason === 'ResourceVersionTooLarge')) return { kind: 'gone' };
  return {
    kind: 'refused',
    ...(retryAfterSeconds === undefined ? {} : { after: retryAfterSeconds * 1000 }),
  };
}
