import { randomBytes } from 'node:crypto';
import { generateKey, issueCa, issueLeaf, localSigner, type Signer } from '@handover/core';
import { after, type Certificate, day, encodePem, hour, instant, parseCertificate } from '@handover/material';
import { NAMESPACE } from './mesh.ts';

const datesNow = () => ({
  notBefore: after(instant(Date.now()), -hour),
  notAfter: after(instant(Date.now()), 365 * day),
});

/** A CA of another program. Its key is gone with this object. */
export class ForeignCa {
  readonly #certificate: Certificate;
  readonly #signer: Signer;

  private constructor(certificate: Certificate, signer: Signer) {
    this.#certificate = certificate;
    this.#signer = signer;
  }

  static async named(name: string): Promise<ForeignCa> {
    const signer = localSigner(generateKey('ECDSA-P256').privateKey);
    const der = await issueCa({ name, generation: 1, signer, serial: randomBytes(16), ...datesNow() });
    return new ForeignCa(parseCertificate(der), signer);
  }

  get pem(): string {
    return this.#certificate.pem;
  }

  /** A Secret as a script makes it. */
  async secret(name: string): Promise<{
    readonly stringData: Readonly<Record<string, string>>;
    readonly [field: string]: unknown;
  }> {
    const key = generateKey('ECDSA-P256');
    const leaf = await issueLeaf({
      issuer: this.#certificate,
      signer: this.#signer,
      publicKey: key.publicKey,
      serial: randomBytes(16),
      subject: { commonName: name },
      usages: ['server', 'client'],
      dnsNames: [`${name}.${NAMESPACE}.svc`],
      ipAddresses: [],
      uris: [],
      ...datesNow(),
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
