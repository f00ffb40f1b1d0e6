/** Values of Node's `error.code` for a certificate of an unknown CA. */
const CODES = new Set([
  'CERT_SIGNATURE_FAILURE',
  'CERT_UNTRUSTED',
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
]);

/** Whether a newer CA bundle may help. */
export const isUnknownAuthority = (error: unknown): boolean =>
  CODES.has(String((error as { code?: unknown } | undefined)?.code));
