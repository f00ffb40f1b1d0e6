import { isMainThread } from 'node:worker_threads';
import { openIdentity } from '../identity.ts';
import { serveStatus } from '../status-server.ts';
import { openTlsProfile } from '../tls-profile.ts';
import { openTrust } from '../trust.ts';
import { FollowedMaterial } from './material.ts';
import { patchTls } from './patch.ts';
import { settingsFrom } from './settings.ts';

/** Another process has the port or socket, or writes the file. `serveStatus` has warned of it. */
const TAKEN: readonly string[] = ['EADDRINUSE', 'EEXIST'];

/** Opens the files that the environment names, and makes this thread's TLS follow them. */
export async function register(env: Readonly<Record<string, string | undefined>>): Promise<void> {
  const settings = settingsFrom(env);
  if (settings === undefined) return;
  const { ca, caOnly } = settings;
  const trust = ca === undefined ? undefined : await openTrust(ca);
  const identity = settings.identity === undefined ? undefined : await openIdentity(settings.identity);
  const profile = settings.profile === undefined ? undefined : await openTlsProfile(settings.profile);
  patchTls(new FollowedMaterial({ trust, identity, profile, caOnly }));
  if (settings.status === undefined || !isMainThread) return;
  const sources = [trust, identity, profile].filter((source) => source !== undefined);
  // Programs that this one starts inherit its environment: the first has the place, and the others must run.
  await serveStatus({ ...settings.status, sources }).catch((error: Error) => {
    if (!TAKEN.includes(String((error.cause as NodeJS.ErrnoException | undefined)?.code))) throw error;
  });
}
