import { follow } from './files/follower.ts';
import { Identity } from './identity.ts';
import { type IdentityLabel, type IdentityMaterial, readIdentity } from './identity-material.ts';
import { type FollowOptions, resolveFollowOptions } from './options.ts';

/** The three files of a Secret of type kubernetes.io/tls. */
export interface HeldPems {
  readonly cert: string | Uint8Array;
  readonly key: string | Uint8Array;
  readonly ca: string | Uint8Array;
}

/**
 * An identity whose material the caller holds in memory, such as a watched Secret: no key touches a disk. After a change
 * call `reload()`: material that does not fit together is refused, and the last good material stays in use.
 */
export async function openHeldIdentity(
  name: string,
  hold: () => HeldPems,
  options: FollowOptions = {},
): Promise<Identity> {
  const files = { cert: `tls.crt of ${name}`, key: `tls.key of ${name}`, ca: `ca.crt of ${name}` };
  const follower = await follow<IdentityLabel, IdentityMaterial>({
    files,
    maxBytes: Number.POSITIVE_INFINITY,
    read: () => {
      const { cert, key, ca } = hold();
      return { cert: Buffer.from(cert), key: Buffer.from(key), ca: Buffer.from(ca) };
    },
    load: (contents, now) => readIdentity(files, contents, now),
    validity: ({ leaf }) => leaf,
    options: resolveFollowOptions(options, 'openHeldIdentity'),
  });
  return new Identity(follower);
}
