import { randomBytes } from 'node:crypto';
import { generateKey, issueCa, issueLeaf } from '@handover/core';
import { after, day, encodePem, hour, instant, parseCertificate } from '@handover/material';
import { NAMESPACE } from './mesh.ts';

/** A CA of another issuer. Its key is not kept: it is lost with this object. */
export class ForeignCa {
  readonly #key = generateKey('ECDSA-P256');
  readonly #dates = {
    notBefore: after(instant(Date.now()), -hour),
    notAfter: after(instant(Date.now()), 365 * day),
  };
  readonly #certificate;
  readonly pem: string;

  constructor(name: string) {
    const der = issueCa({ name, generation: 1, key: this.#key, serial: randomBytes(16), ...this.#dates });
    this.#certificate = parseCertificate(der);
    this.pem = encodePem('CERTIFICATE', der);
  }

  /** A Secret as a script makes it. */
  secret(name: string): {
    readonly stringData: Readonly<Record<string, string>>;
    readonly [field: string]: unknown;
  } {
    const key = generateKey('ECDSA-P256');
    const leaf = issueLeaf({
      issuer: this.#certificate,
      issuerKey: this.#key.privateKey,
      publicKey: key.publicKey,
      serial: randomBytes(16),
      subject: { commonName: name },
      usages: ['server', 'client'],
      dnsNames: [`${name}.${NAMESPACE}.svc`],
      ipAddresses: [],
      uris: [],
      ...this.#dates,
    });
    return {
      apiVersion: 'v1',
      kind: 'Secret',
      type: 'kubernetes.io/tls',
      // Its owner consents; without that the admission policies stop the operator.
      metadata: { name, namespace: NAMESPACE, labels: { 'handover.dev/adopt': 'true' } },
      stringData: {
        'tls.crt': encodePem('CERTIFICATE', leaf),
        'tls.key': key.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
        'ca.crt': this.pem,
      },
    };
  }
}
