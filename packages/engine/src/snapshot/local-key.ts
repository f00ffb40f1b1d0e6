import { generateKeyAside, type KeySource, localSigner, type Signer } from '@handover/core';
import { type Certificate, PrivateKey, Unprintable } from '@handover/material';
import type { KeyRef, Keyring } from './keyring.ts';

let held: (key: LocalKey) => PrivateKey;
let signerOf: (key: LocalKey) => Signer;

/** A CA key in this process and in its authority's state. It has no PEM and no KeyObject to give: only `pemOf` below does. */
export class LocalKey extends Unprintable<'[private key]'> {
  readonly kind = 'local';
  readonly #key: PrivateKey;
  #signer: Signer | undefined;

  constructor(key: PrivateKey) {
    super('[private key]');
    this.#key = key;
  }

  static {
    held = (key) => key.#key;
    signerOf = (key) => {
      key.#signer ??= localSigner(key.#key.key);
      return key.#signer;
    };
  }

  /** Whether the certificate is for this key. */
  matches(certificate: Certificate): boolean {
    return this.#key.matches(certificate);
  }
}

/** For the state's file alone; a test holds every other import off. */
export const pemOf = (key: LocalKey): string => held(key).exportPem();

/** Keys that are kept in the state of their authority, where the write of the record also creates and destroys them. */
export const localKeyring = (keys: KeySource): Keyring => ({
  create: async ({ algorithm, share }) =>
    new LocalKey(PrivateKey.of((await keys(algorithm, share)).privateKey)),
  import: async (key) => key,
  open: async (ref) => signerOf(ref),
  // The write that left the key out of the state has destroyed it.
  destroy: async () => {},
});

/** For a dry run: signs with the keys of `keyring`, and makes and destroys none there. */
export const trialKeyring = (keyring: Keyring): Keyring => {
  const trial = localKeyring(generateKeyAside);
  const made = new WeakSet<KeyRef>();
  const noted = async (making: Promise<KeyRef>): Promise<KeyRef> => {
    const ref = await making;
    made.add(ref);
    return ref;
  };
  return {
    create: (asked) => noted(trial.create(asked)),
    import: (key) => noted(trial.import(key)),
    open: (ref) => (made.has(ref) ? trial : keyring).open(ref),
    destroy: async () => {},
  };
};
