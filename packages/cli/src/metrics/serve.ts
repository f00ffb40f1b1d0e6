import { type BoundedServer, NO_SUCH_PAGE, serveBounded } from '@handover/engine';
import type { Metrics } from './metrics.ts';

/** `/metrics`, and nothing else. */
export const serveMetrics = (
  metrics: Metrics,
  { host, port }: { readonly host: string; readonly port: number },
): Promise<BoundedServer> =>
  serveBounded({
    host,
    port,
    flag: '--metrics-address',
    answer: async (path) => {
      if (path !== '/metrics') return NO_SUCH_PAGE;
      const { contentType, body } = await metrics.page();
      return { status: 200, body, headers: { 'content-type': contentType } };
    },
  });
