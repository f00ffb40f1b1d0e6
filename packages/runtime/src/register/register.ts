import { isMainThread } from 'node:worker_threads';
import { systemClock } from '../clock.ts';
import { openIdentity } from '../identity.ts';
import { refuseOn } from '../only-node.ts';
import { withDefaultTrust } from '../status/default-trust.ts';
import { joinProgram } from '../status/program.ts';
import { shownOf } from '../status/status.ts';
import { openTlsProfile } from '../tls-profile.ts';
import { openTrust } from '../trust.ts';
import { isPreload, passOn } from './children.ts';
import { FollowedMaterial } from './material.ts';
import { patchTls } from './patch.ts';
import { settingsFrom } from './settings.ts';
import { reportThread, Threads } from './threads.ts';

/** Opens the files that the environment names, and makes this thread's TLS follow them. `url`: the module that Node imports for it. */
export async function register(
  env: Readonly<Record<string, string | undefined>>,
  url: string,
): Promise<void> {
  const settings = settingsFrom(env);
  if (settings === undefined) return;
  refuseOn(['bun', 'deno'], 'register', 'use openTrust and openIdentity'); // their servers keep their first certificate
  const { ca, caOnly, status } = settings;
  const shows = isMainThread && status !== undefined;
  const threads = shows ? new Threads(systemClock) : undefined; // before the program starts any
  const show = shows ? await joinProgram(status, systemClock) : undefined;
  const trust = ca === undefined ? undefined : await openTrust(ca);
  const identity = settings.identity === undefined ? undefined : await openIdentity(settings.identity);
  const profile = settings.profile === undefined ? undefined : await openTlsProfile(settings.profile);
  const material = new FollowedMaterial({ trust, identity, profile, caOnly });
  patchTls(material);
  if (isPreload(url, process.execArgv)) passOn(url);
  const followed = material.beside(
    shownOf([trust, identity, profile].filter((source) => source !== undefined)),
  );
  // With HANDOVER_CA its bundle stands beside them in every context.
  const shown = trust === undefined ? withDefaultTrust(followed, systemClock) : followed;
  if (!isMainThread) reportThread(shown, systemClock);
  // A program that cannot say what it has loaded must not run on beside a status that seems to speak for it.
  if (threads !== undefined) await show?.(threads.beside(shown));
}
