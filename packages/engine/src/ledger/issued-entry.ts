/** Who asked for something, as far as the home can tell. */
export interface Asker {
  /** `resource`: the YAML or the custom resource itself. `request`: a command such as `handover rotate`. */
  readonly via: 'schedule' | 'resource' | 'annotation' | 'request';
  /** On one machine: the user whose process asked. */
  readonly user?: string;
  readonly uid?: number;
  /** In a cluster: what the client called itself in `managedFields`. The API server's audit log knows the user. */
  readonly manager?: string;
}

/** One certificate that was made. Names, numbers and dates: no key, and no PEM. */
export interface IssuedEntry {
  readonly at: string;
  readonly kind: 'ca' | 'cross' | 'leaf' | 'canary';
  /** `namespace/name`. */
  readonly authority: string;
  /** The CA generation that signed it; of a CA: its own. */
  readonly generation: number;
  /** Of a cross-certificate: the CA generation that it certifies. */
  readonly certifies?: number;
  /** Hex. */
  readonly serial: string;
  /** SHA-256 of the DER, hex. */
  readonly fingerprint: string;
  readonly subject: string;
  readonly dnsNames: readonly string[];
  readonly ipAddresses: readonly string[];
  readonly uris: readonly string[];
  readonly usages: readonly string[];
  readonly notBefore: string;
  readonly notAfter: string;
  /** The object that it was made for. */
  readonly for: {
    readonly kind: 'Authority' | 'Leaf';
    readonly namespace: string;
    readonly name: string;
    readonly uid?: string;
  };
  readonly askedBy?: Asker;
  readonly why: string;
}

/** Where every certificate is written down before it can be seen anywhere else. */
export interface IssuanceLog {
  /** Durable, as far as the log can be, when it returns. What it refuses to write down is not issued. */
  issued(entry: IssuedEntry): Promise<void>;
}
