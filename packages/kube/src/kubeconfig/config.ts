import type { Hidden } from '../hidden.ts';

/** PEM in a file, which the client follows, or as text, which stays. */
export type PemSource = { readonly file: string } | { readonly pem: Hidden };

export interface TlsConfig {
  /** Default: the root certificates of Node. */
  readonly ca?: PemSource;
  readonly cert?: PemSource;
  readonly key?: PemSource;
  /** False: any server certificate is accepted. Default true. */
  readonly verify?: boolean;
  /** The expected name in the server's certificate, when it is not the host of the URL. */
  readonly serverName?: string;
}

export interface ExecConfig {
  readonly apiVersion: string;
  readonly command: string;
  readonly args: readonly string[];
  /** A function, so that the environment is not printed with the config. */
  readonly env: () => Readonly<Record<string, string>>;
  readonly installHint?: string;
  /** `spec.cluster` of the plugin's input, when the plugin asks for it. */
  readonly cluster?: Readonly<Record<string, unknown>>;
  /** Milliseconds that a plugin may take. Default 60,000. */
  readonly timeout?: number;
}

export interface AuthConfig {
  readonly token?: Hidden;
  /** The client follows this file. Wins over `token`. */
  readonly tokenFile?: string;
  readonly basic?: { readonly username: string; readonly password: Hidden };
  readonly exec?: ExecConfig;
}

export interface Impersonation {
  readonly user: string;
  readonly uid?: string;
  readonly groups?: readonly string[];
  readonly extra?: Readonly<Record<string, readonly string[]>>;
}

/** One API server and one user. Holds no open file or connection, and prints no secret. */
export interface KubeConfig {
  /** Absolute URL, perhaps with a path before `/api`. */
  readonly server: string;
  /** The namespace of the context, or `default`. */
  readonly namespace: string;
  readonly context?: string;
  readonly tls: TlsConfig;
  readonly auth: AuthConfig;
  /** http:, https: or socks5:, perhaps with a password. */
  readonly proxyUrl?: Hidden;
  readonly impersonate?: Impersonation;
}
