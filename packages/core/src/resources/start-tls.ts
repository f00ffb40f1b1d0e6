/** Protocols that start in clear text and go over to TLS on request. */
export const START_TLS = ['postgres', 'mysql', 'smtp', 'imap', 'ldap'] as const;
export type StartTls = (typeof START_TLS)[number];
