import type { ClientGeneration, ClientSource } from './client-source.ts';

/** OpenSSL's ways to say that nobody known signed this. */
const UNKNOWN_AUTHORITY = new Set([
  'CERT_SIGNATURE_FAILURE',
  'CERT_UNTRUSTED',
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
]);

export const isUnknownAuthority = (error: unknown): boolean =>
  UNKNOWN_AUTHORITY.has(String((error as { code?: unknown } | undefined)?.code));

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
