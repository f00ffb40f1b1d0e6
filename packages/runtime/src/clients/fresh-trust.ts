import { isUnknownAuthority } from '@handover/material';
import type { ClientSource, TlsMaterial } from './client-source.ts';

/** Changes of the files during handshakes that one connection follows. */
const MOST_CHANGES = 8;

/**
 * Makes a handshake. After an unknown authority it reloads once, and tries once more if there is new material. Where the material changed during the
 * handshake, what judged the peer may be gone: `discard` ends that connection, and another one is made with the newest. Without `discard` there can be
 * no other connection, and the first one stays.
 */
export async function withFreshTrust<Result>(
  source: ClientSource,
  attempt: (material: TlsMaterial) => Promise<Result>,
  discard?: (result: Result) => void,
): Promise<Result> {
  let hasReloaded = false;
  let material = source.current();
  for (let changes = 0; ; ) {
    try {
      const result = await attempt(material);
      const newest = source.current();
      if (newest.loads === material.loads || discard === undefined || ++changes > MOST_CHANGES) return result;
      discard(result);
      material = newest;
    } catch (error) {
      if (hasReloaded || !isUnknownAuthority(error) || !(await source.refresh(material.loads))) throw error;
      hasReloaded = true;
      material = source.current();
    }
  }
}
