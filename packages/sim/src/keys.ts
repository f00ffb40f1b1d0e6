import { type KeyObject, sign } from 'node:crypto';
import { generateKey, localSigner, type Signer, signedWith, type Unsigned } from '@handover/core';
import { type KeyRef, LocalKey } from '@handover/engine';
import { bytesOf, encodePem, PrivateKey } from '@handover/material';

const keys = new WeakMap<Signer, KeyObject>();

/** A signer of a P-256 key, for `signNow`. */
export const newSigner = ({ privateKey } = generateKey('ECDSA-P256')): Signer => {
  const signer = localSigner(privateKey);
  keys.set(signer, privateKey);
  return signer;
};

/** The certificate, DER, at once: simulator and model checker make certificates between two checks and cannot wait. */
export const signNow = (certificate: Unsigned): Uint8Array => {
  const key = keys.get(certificate.signer);
  if (key === undefined) throw new TypeError('a signer of another keyring');
  return signedWith(certificate, sign('sha256', certificate.tbs, key));
};

/** CA keys to deal from, for all worlds of this thread: a key costs more than a step of a world, and which key it is changes no verdict. */
const deck: { readonly key: KeyRef; readonly signer: Signer }[] = [];

const newCaKey = () => {
  const pair = generateKey('ECDSA-P256');
  return { key: new LocalKey(PrivateKey.of(pair.privateKey)), signer: newSigner(pair) };
};

export const keyAt = (index: number): KeyRef => {
  deck[index] ??= newCaKey();
  return deck[index].key;
};

export const openKey = (ref: KeyRef): Signer => {
  const dealt = deck.find(({ key }) => key === ref);
  if (dealt === undefined) throw new TypeError('a key of another keyring');
  return dealt.signer;
};

export const indexOf = (signer: Signer): number => deck.findIndex((dealt) => dealt.signer === signer);

export const newLeafKey = () => {
  const { publicKey, privateKey } = generateKey('ECDSA-P256');
  const pem = encodePem('PRIVATE KEY', privateKey.export({ type: 'pkcs8', format: 'der' }));
  return { publicKey, held: PrivateKey.of(privateKey), file: bytesOf(pem) };
};
