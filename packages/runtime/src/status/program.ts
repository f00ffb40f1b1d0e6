import type { Clock, HandoverError } from '@handover/material';
import { RuntimeError } from '../error.ts';
import { isTaken, membershipOn, Worker } from './cluster.ts';
import { endpointFor } from './endpoints.ts';
import { ProcessRegistry } from './process-registry.ts';
import { placeError, placeName, type StatusPlace, serveShown } from './server.ts';
import type { Shown } from './status.ts';

const HOLD_MS = 1_000;

function strangerError(place: StatusPlace, cause: unknown): HandoverError {
  const path = placeName(place);
  return new RuntimeError(
    'STATUS_LISTEN_FAILED',
    `the process that shows its status on ${path} does not take this one: it belongs to another user, does not run under register, or waits for this process (spawnSync, execSync); set HANDOVER_STATUS to another place, or unset it for a program without TLS`,
    { path, cause },
  );
}

/**
 * Takes part in the status of all processes of this user that were given the same place: a program, its children, other programs. From now on
 * they wait for this process, so it is called before the files are read. The result shows them what this process has loaded, and rejects
 * when the process that answers there does not take this one.
 */
export async function joinProgram(
  place: StatusPlace,
  clock: Clock,
): Promise<(shown: Shown) => Promise<unknown>> {
  // Elsewhere a connection does not tell its user, and no list of processes outlives the process that answers.
  if (process.platform !== 'linux' || place.port === 0) return (shown) => serveShown(place, shown);
  let showing: Shown | undefined;
  const membership = membershipOn(new ProcessRegistry(place), undefined);
  const worker = new Worker(
    endpointFor(place, membership, clock),
    () => (showing === undefined ? [] : showing.statuses()),
    membership,
    clock,
  );
  await worker.announce().catch((cause: unknown) => {
    throw placeError(place, cause);
  });
  return async (shown) => {
    showing = shown;
    // Nothing else of a program that has not begun keeps the process alive.
    const begins = clock.every(HOLD_MS, () => undefined);
    try {
      await worker.enter();
    } catch (cause) {
      throw isTaken(cause) ? strangerError(place, cause) : placeError(place, cause);
    } finally {
      begins.cancel();
    }
    shown.onChange(() => worker.changed());
  };
}
