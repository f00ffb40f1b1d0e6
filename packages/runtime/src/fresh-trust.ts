import { isUnknownAuthority } from '@handover/material';
import type { ClientSource, TlsMaterial } from './client-source.ts';

/** A handshake; when it meets an unknown authority, one forced reload, and one retry if that brought anything new. */
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
