import type { KeyObject } from 'node:crypto';
import type { KeyAlgorithm, Leaf, PermittedNames, Signer } from '@handover/core';
import type { Certificate, Instant, PrivateKey } from '@handover/material';
import type { LocalKey } from './local-key.ts';

/** Names a CA key to the keyring that holds it, and tells nothing else. Another place for keys is another `kind`. */
export type KeyRef = LocalKey;

/** Holds the CA keys of a home: docs/decisions/0407. */
export interface Keyring {
  /** A new key. `share`: the namespace that it counts for, where makers of keys take turns. */
  create(asked: { readonly algorithm: KeyAlgorithm; readonly share: string }): Promise<KeyRef>;
  /** Takes in the key of a CA that `spec.adopt` names. */
  import(key: LocalKey): Promise<KeyRef>;
  open(ref: KeyRef): Promise<Signer>;
  /** Called once the state that no longer names the key is durable. A key that is gone already is no error. */
  destroy(ref: KeyRef): Promise<void>;
}

/** A CA that signs. */
export interface SigningCa {
  readonly certificate: Certificate;
  readonly signer: Signer;
}

/** A leaf, and the key that belongs into its Secret. */
export interface IssuedLeaf {
  readonly certificate: Certificate;
  readonly key: PrivateKey;
}

interface Validity {
  readonly notBefore: Instant;
  readonly notAfter: Instant;
}

/** Makes certificates, and the keys of leaves. Dates may come out earlier than asked, never later: what was made is what counts. */
export interface Issuer {
  ca(
    asked: {
      readonly name: string;
      readonly generation: number;
      readonly signer: Signer;
      /** Names that it may sign; undefined: any. */
      readonly nameConstraints?: PermittedNames | undefined;
    } & Validity,
  ): Promise<Certificate>;
  /** The cross-certificate of `subject` by `by`. */
  cross(asked: { readonly subject: Certificate; readonly by: SigningCa } & Validity): Promise<Certificate>;
  /** A leaf for a key that another program holds. */
  sign(
    asked: { readonly leaf: Leaf; readonly by: SigningCa; readonly publicKey: KeyObject } & Validity,
  ): Promise<Certificate>;
  /** `key`: the one that the leaf had before; undefined: a new one is made. */
  leaf(
    asked: { readonly leaf: Leaf; readonly by: SigningCa; readonly key?: PrivateKey | undefined } & Validity,
  ): Promise<IssuedLeaf>;
}
