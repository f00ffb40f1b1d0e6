import { isUnknownAuthority } from '@handover/material';
import type { ClientGeneration, ClientSource } from './client-source.ts';

/** A handshake; when it meets an unknown authority, one forced reload, and one retry if that brought anything new. */
export async function withFreshTrust<Result>(
  source: ClientSource,
  attempt: (generation: ClientGeneration) => Promise<Result>,
): Promise<Result> {
  const first = source.generation();
  try {
    return await attempt(first);
  } catch (error) {
    if (!isUnknownAuthority(error) || !(await source.refresh(first.number))) throw error;
    return attempt(source.generation());
  }
}
