/** Names of cert-manager: its API, and the label of the Secrets that it writes. */
export const CERT_MANAGER = {
  group: 'cert-manager.io',
  version: 'v1',
  apiVersion: 'cert-manager.io/v1',
  secretLabel: 'controller.cert-manager.io/fao',
} as const;

/** How an `issuerRef` of cert-manager names an Authority. */
export const ISSUER = { group: 'handover.dev', kind: 'Authority' } as const;
