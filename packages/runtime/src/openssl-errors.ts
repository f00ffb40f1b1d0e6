import { createSecureContext } from 'node:tls';

/**
 * On Node 20 a `createSecureContext` that throws leaves its error in OpenSSL's queue, and the next `createPrivateKey` refuses
 * a good key for it. Making a good context clears the queue. Seen on 20.20; 22 and 24 are not affected.
 */
export function clearOpenSslErrors(): void {
  createSecureContext({});
}
