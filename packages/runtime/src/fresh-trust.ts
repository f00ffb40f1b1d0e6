import { isUnknownAuthority } from '@handover/material';
import type { ClientSource, TlsMaterial } from './client-source.ts';

/** Makes a handshake. After an unknown authority it reloads once, and tries once more if there is new material. */
export async function withFreshTrust<Result>(
  source: ClientSource,
  attempt: (material: TlsMaterial) => Promise<Result>,
): Promise<Result> {
  const first = source.current();
  try {
    return await attempt(first);
  } catch (error) {
    if (!isUnknownAuthority(error) || !(await source.refresh(first.loads))) throw error;
    return attempt(source.current());
  }
}
