import { createSecureContext } from 'node:tls';

/**
 * On Node 20 a `createSecureContext` that throws leaves its error in OpenSSL's queue, and the next `createPrivateKey` takes
 * it for its own and refuses a good key. A context that is made well clears the queue. Tried on 20.20; 22 and 24 are
 * not affected.
 */
export function clearOpenSslErrors(): void {
  createSecureContext({});
}
