import type { Hidden } from '../hidden.ts';

/** PEM that is followed in its file, or that came as text and stays. */
export type PemSource = { readonly file: string } | { readonly pem: Hidden };

export interface TlsConfig {
  /** Default: the roots that Node carries. */
  readonly ca?: PemSource;
  readonly cert?: PemSource;
  readonly key?: PemSource;
  /** False: any server is believed. Default true. */
  readonly verify?: boolean;
  /** The name to expect in the server's certificate, when it is not the host of the URL. */
  readonly serverName?: string;
}

export interface ExecConfig {
  readonly apiVersion: string;
  readonly command: string;
  readonly args: readonly string[];
  /** A function, so that the environment is not printed with the config. */
  readonly env: () => Readonly<Record<string, string>>;
  readonly installHint?: string;
  /** What goes into `spec.cluster` of the plugin's input, when it asked for it. */
  readonly cluster?: Readonly<Record<string, unknown>>;
  /** Milliseconds a plugin may take. */
  readonly timeout?: number;
}

export interface AuthConfig {
  readonly token?: Hidden;
  /** Followed. Outranks `token`. */
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

/** One API server as one user. Nothing has been opened, and nothing in it prints a secret. */
export interface KubeConfig {
  /** Absolute URL, perhaps with a path in front of `/api`. */
  readonly server: string;
  /** The context's, or `default`. */
  readonly namespace: string;
  readonly context?: string;
  readonly tls: TlsConfig;
  readonly auth: AuthConfig;
  /** http:, https: or socks5:, perhaps with a password. */
  readonly proxyUrl?: Hidden;
  readonly impersonate?: Impersonation;
}
