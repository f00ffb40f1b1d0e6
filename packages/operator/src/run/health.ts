import { type BoundedServer, NO_SUCH_PAGE, serveBounded } from '@handover/engine';

export interface HealthOptions {
  readonly host: string;
  readonly port: number;
  /** What is not ready yet, in words; empty: everything is. */
  readonly waitingFor: () => readonly string[];
  /** What `/metrics` answers; undefined: there is no such page. */
  readonly metrics?: (() => Promise<MetricsPage>) | undefined;
}

export interface MetricsPage {
  readonly contentType: string;
  readonly body: string;
}

/** `/livez`: this process answers. `/readyz`: it has seen, and put right, everything once. `/metrics`: what is counted. */
export const serveHealth = ({ host, port, waitingFor, metrics }: HealthOptions): Promise<BoundedServer> =>
  serveBounded({
    host,
    port,
    flag: '--health-address',
    answer: async (path) => {
      if (path === '/metrics' && metrics !== undefined) {
        const { contentType, body } = await metrics();
        return { status: 200, body, headers: { 'content-type': contentType } };
      }
      if (path !== '/livez' && path !== '/readyz') return NO_SUCH_PAGE;
      const missing = path === '/readyz' ? waitingFor() : [];
      return missing.length > 0
        ? { status: 503, body: `not ready: ${missing.slice(0, 5).join('; ')}\n` }
        : { status: 200, body: 'ok\n' };
    },
  });
