/** How a consumer was asked what it has loaded. */
export type Question = 'status' | 'metrics' | 'probe';
/** `silent`: no answer. `vague`: it answered, and showed nothing of ours. `strips_cross`: it serves a leaf without the cross-certificate. */
export type Answered = 'shown' | 'vague' | 'strips_cross' | 'silent';
/** How a program is told that its files changed. */
export type ReloadMethod = 'command' | 'signal' | 'http' | 'systemd' | 'restart';
export type TellResult =
  | 'done'
  | 'cannot_run'
  | 'exit_code'
  | 'timeout'
  | 'no_process'
  | 'refused'
  | 'unreachable'
  | 'other';

/**
 * What is counted while it happens. Every argument is one of a few words: no name, no message and no
 * material, so that what is counted can neither grow without bound nor give anything away.
 */
export interface Meters {
  asked(how: Question, answer: Answered): void;
  told(how: ReloadMethod, result: TellResult): void;
  /** Work that is due now, and all that is planned. Passed once; called at each scrape. */
  queue(depth: () => { readonly due: number; readonly planned: number }): void;
}

/** Counts nothing. */
export const NO_METERS: Meters = { asked: () => {}, told: () => {}, queue: () => {} };
