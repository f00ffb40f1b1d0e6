/** Signer names of Handover's authorities in PodCertificateRequests: `handover.dev/<namespace>.<name>`. */
const PREFIX = 'handover.dev/';

/** For RBAC: every signer of Handover. */
export const ALL_SIGNERS = `${PREFIX}*`;

/** The signer of an authority, `namespace/name`. A namespace has no dot, so the first one ends it. */
export const signerOf = (authority: string): string => `${PREFIX}${authority.replace('/', '.')}`;

/** `namespace/name` of the authority that a signer stands for; undefined: the signer is not Handover's. */
export const authorityOfSigner = (signer: string): string | undefined => {
  const [, namespace, name] = /^handover\.dev\/([a-z0-9-]{1,63})\.([a-z0-9.-]{1,253})$/.exec(signer) ?? [];
  return namespace === undefined || name === undefined ? undefined : `${namespace}/${name}`;
};
