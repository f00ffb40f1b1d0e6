import { KubeError } from '../error.ts';

type Env = Readonly<Record<string, string | undefined>>;

function parsed(text: string, from: string): string {
  const given = /^[a-z0-9]+:\/\//i.test(text) ? text : `http://${text}`;
  if (!/^(https?|socks5h?):/i.test(given) || !URL.canParse(given)) {
    // Without the text: it may hold a password.
    const message = `the proxy of ${from} is not an http, https or socks5 URL`;
    throw new KubeError('KUBECONFIG_MALFORMED', message, { path: from });
  }
  return new URL(given).href;
}

/** Go's rules for NO_PROXY: names and their subdomains, addresses, `*`. Loopback never goes through a proxy. */
function isExempt({ hostname, port }: URL, noProxy: string): boolean {
  const host = hostname.replace(/^\[|\]$/g, '');
  if (host === 'localhost' || /^127\./.test(host) || host === '::1') return true;
  return noProxy
    .split(',')
    .map((entry) => entry.trim().toLowerCase())
    .filter((entry) => entry !== '')
    .some((entry) => {
      if (entry === '*') return true;
      const [, name = entry, only] = /^(.*?)(?::(\d+))?$/.exec(entry) ?? [];
      if (only !== undefined && only !== port) return false;
      if (name.includes('/')) return inRange(host, name);
      const bare = name.replace(/^\*?\./, '');
      return host === bare ? !name.startsWith('.') : host.endsWith(`.${bare}`);
    });
}

const number = (address: string): number | undefined => {
  const parts = address.split('.').map(Number);
  return parts.length === 4 && parts.every((part) => part >= 0 && part < 256)
    ? parts.reduce((sum, part) => sum * 256 + part, 0)
    : undefined;
};

/** IPv4 only. */
function inRange(host: string, range: string): boolean {
  const [base = '', bits = '32'] = range.split('/');
  const a = number(host);
  const b = number(base);
  const size = 2 ** (32 - Number(bits));
  return a !== undefined && b !== undefined && Math.floor(a / size) === Math.floor(b / size);
}

/** The cluster's own proxy, else the environment's, as in kubectl. */
export function proxyFor(
  server: URL,
  own: string | undefined,
  env: Env,
  cluster: string,
): string | undefined {
  if (own) return parsed(own, `cluster "${cluster}"`);
  const secure = server.protocol === 'https:';
  const given = secure ? (env.HTTPS_PROXY ?? env.https_proxy) : (env.HTTP_PROXY ?? env.http_proxy);
  if (!given || isExempt(server, env.NO_PROXY ?? env.no_proxy ?? '')) return undefined;
  return parsed(given, secure ? 'HTTPS_PROXY' : 'HTTP_PROXY');
}
