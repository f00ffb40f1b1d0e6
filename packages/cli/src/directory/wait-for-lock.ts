import type { DirectoryHome } from '@handover/engine';
import type { Clock } from '@handover/material';
import { isCode } from '../error.ts';

const LOOK_MS = 250;

/**
 * The lock of a directory, for `handover run`. Waits for a command that ends by itself, such as `rotate --wait`; another `run` is an error.
 * Undefined: `signal` came first.
 */
export const waitForLock = async (
  home: DirectoryHome,
  signal: AbortSignal,
  {
    clock,
    stays,
    say,
  }: { readonly clock: Clock; readonly stays: boolean; readonly say: (line: string) => void },
): Promise<Awaited<ReturnType<DirectoryHome['lock']>> | undefined> => {
  let told: number | undefined;
  while (!signal.aborted) {
    try {
      return await home.lock(stays);
    } catch (error) {
      const holder = home.holder();
      if (!isCode(error, 'HOME_LOCKED') || holder?.stays === true) throw error;
      if (holder !== undefined && holder.pid !== told) {
        say(`waiting for process ${holder.pid} to finish its work on this directory`);
        told = holder.pid;
      }
    }
    await clock.sleep(LOOK_MS, signal);
  }
  return undefined;
};
