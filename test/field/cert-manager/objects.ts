/** Objects of cert-manager.io, as users write them. */
export interface IssuerRef {
  readonly group: string;
  readonly kind: string;
  readonly name: string;
}

const object = (kind: string, namespace: string, name: string, spec: object): object => ({
  apiVersion: 'cert-manager.io/v1',
  kind,
  metadata: { namespace, name },
  spec,
});

export const issuer = (name: string): IssuerRef => ({ group: 'cert-manager.io', kind: 'Issuer', name });

export const certificate = (
  namespace: string,
  name: string,
  issuerRef: IssuerRef,
  more: object = {},
): object =>
  object('Certificate', namespace, name, {
    secretName: name,
    dnsNames: [`${name}.${namespace}.svc`],
    privateKey: { algorithm: 'ECDSA' },
    issuerRef,
    ...more,
  });

/** An Issuer with a CA of its own, which a self-signed Issuer makes: their way to begin. The CA lies in the Secret `<name>-ca`. */
export const caIssuer = (namespace: string, name: string): readonly object[] => [
  object('Issuer', namespace, `${name}-root`, { selfSigned: {} }),
  caCertificate(namespace, name, `${name}-ca`),
  object('Issuer', namespace, name, { ca: { secretName: `${name}-ca` } }),
];

/** The self-signed CA of `caIssuer`, under this name. */
export const caCertificate = (namespace: string, name: string, secret: string): object =>
  object('Certificate', namespace, secret, {
    isCA: true,
    commonName: secret,
    secretName: secret,
    privateKey: { algorithm: 'ECDSA' },
    issuerRef: issuer(`${name}-root`),
  });
