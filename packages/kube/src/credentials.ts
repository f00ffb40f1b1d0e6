import type { Clock } from '@handover/material';
import { openToken, type Token } from '@handover/runtime';
import type { AuthConfig, Impersonation } from './kubeconfig/config.ts';
import { ExecPlugin } from './kubeconfig/exec-plugin.ts';
import type { LiveTls } from './live-tls.ts';
import { type OnReload, reportReloads } from './reload-report.ts';

const impersonationHeaders = (as: Impersonation | undefined): Record<string, string> => {
  if (as === undefined) return {};
  const headers: Record<string, string> = { 'impersonate-user': as.user };
  if (as.uid !== undefined) headers['impersonate-uid'] = as.uid;
  return headers;
};

/** Headers that may repeat. They are apart because undici is slower with a flat list, which they need. */
export const repeatedHeaders = (as: Impersonation | undefined): readonly (readonly [string, string])[] => [
  ...(as?.groups ?? []).map((group) => ['impersonate-group', group] as const),
  ...Object.entries(as?.extra ?? {}).flatMap(([name, values]) =>
    values.map((value) => [`impersonate-extra-${encodeURIComponent(name.toLowerCase())}`, value] as const),
  ),
];

/** The credentials for the API server, read again for each request. */
export class Credentials {
  readonly #auth: AuthConfig;
  readonly #token: Token | undefined;
  readonly #plugin: ExecPlugin | undefined;
  readonly #tls: LiveTls;
  readonly #always: Readonly<Record<string, string>>;

  private constructor(
    auth: AuthConfig,
    token: Token | undefined,
    tls: LiveTls,
    impersonate: Impersonation | undefined,
    clock: Clock,
  ) {
    this.#auth = auth;
    this.#token = token;
    this.#tls = tls;
    this.#plugin = auth.exec === undefined ? undefined : new ExecPlugin(auth.exec, () => clock.now());
    this.#always = impersonationHeaders(impersonate);
  }

  static async open(
    auth: AuthConfig,
    tls: LiveTls,
    impersonate: Impersonation | undefined,
    clock: Clock,
    signal: AbortSignal,
    onReload?: OnReload,
  ): Promise<Credentials> {
    const token = auth.tokenFile === undefined ? undefined : await openToken(auth.tokenFile, { signal });
    if (token !== undefined) reportReloads(token, 'token', onReload);
    return new Credentials(auth, token, tls, impersonate, clock);
  }

  /** The headers to send. A certificate from an exec plugin goes into the TLS material. */
  async headers(signal: AbortSignal): Promise<Readonly<Record<string, string>>> {
    const { token, basic } = this.#auth;
    if (this.#token !== undefined) return this.#bearer(this.#token.value());
    if (token !== undefined) return this.#bearer(token.reveal());
    if (basic !== undefined) {
      const pair = Buffer.from(`${basic.username}:${basic.password.reveal()}`).toString('base64');
      return { ...this.#always, authorization: `Basic ${pair}` };
    }
    if (this.#plugin === undefined) return this.#always;
    const credential = await this.#plugin.credential(signal);
    this.#tls.show(credential.certificate);
    return credential.token === undefined ? this.#always : this.#bearer(credential.token.reveal());
  }

  /** After a 401. True when the credential may have changed, so that a retry makes sense. */
  async refresh(): Promise<boolean> {
    if (this.#plugin !== undefined) return this.#plugin.forget();
    if (this.#token === undefined) return false;
    const before = this.#token.value();
    await this.#token.reload();
    return this.#token.value() !== before;
  }

  #bearer(token: string): Readonly<Record<string, string>> {
    return { ...this.#always, authorization: `Bearer ${token}` };
  }
}
