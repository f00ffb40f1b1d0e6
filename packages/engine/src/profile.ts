import { getCurves } from 'node:crypto';
import { getCiphers } from 'node:tls';
import type { TlsProfile } from '@handover/core';
import {
  HandoverError,
  type ResolvedTlsProfile,
  resolveTlsProfile,
  type TlsSupport,
} from '@handover/material';
import { profileObjectOf } from './catalogue.ts';
import type { Home } from './ports.ts';
import { digestOf } from './stored-object.ts';

/** What this process's OpenSSL has. node:crypto lists only the curves of ECDSA; X25519 and X448 are in every build. */
export const localTlsSupport = (): TlsSupport => ({
  ciphers: getCiphers(),
  groups: [...getCurves(), 'X25519', 'X448'],
});

/** What a profile comes to here; `OpenShift` needs an API server to follow. */
export const resolveProfile = (profile: TlsProfile): ResolvedTlsProfile => {
  const { type, custom } = profile.spec;
  if (type === 'OpenShift') {
    throw new HandoverError(
      'TLS_PROFILE_NOT_HERE',
      `TLSProfile ${profile.metadata.name} follows OpenShift, which only the Kubernetes home can; name a profile`,
      { path: profile.metadata.name },
    );
  }
  return resolveTlsProfile({ type, custom }, localTlsSupport());
};

/** Keeps a file of a ConfigMap at exactly `text`. True when it had to be written. */
export async function keepFile(home: Home, id: string, key: string, text: string): Promise<boolean> {
  const stored = await home.objects.read(id);
  if (stored?.obstacle !== undefined)
    throw new HandoverError('OBJECT_OBSTACLE', `${id}: ${stored.obstacle}`, { path: id, retry: 'later' });
  if (stored?.data[key] === text && stored.record?.digest === digestOf(stored.data)) return false;
  const data = { [key]: text };
  await home.objects.write(id, stored?.version, (at) => ({
    data,
    record: { digest: digestOf(data), revisions: {}, anchors: [], changedAt: at },
  }));
  return true;
}

/** Writes `profile.json`; a profile that cannot be honoured is refused before anything is touched. */
export const reconcileProfile = (home: Home, profile: TlsProfile): Promise<boolean> =>
  keepFile(home, profileObjectOf(profile), 'profile.json', resolveProfile(profile).json);
