import { Agent, Dispatcher } from 'undici';
import { SOURCE } from './clients/client-source.ts';
import { type HotDispatcherOptions, hotDispatcher } from './clients/dispatcher.ts';
import type { Identity } from './identity.ts';
import type { Trust } from './trust.ts';

/**
 * A dispatcher for undici 6, 7 and 8, like `trust.dispatcher()`. Here undici is imported, so that a bundler puts it into the
 * program.
 *
 * @example
 * ```ts
 * import { dispatcher } from '@handover/runtime/undici';
 * import { request } from 'undici';
 *
 * const { statusCode } = await request('https://billing.mesh.svc/', { dispatcher: dispatcher(trust) });
 * console.log(statusCode); // 200
 * ```
 */
export function dispatcher(trust: Trust | Identity, options: HotDispatcherOptions = {}): Dispatcher {
  return hotDispatcher({ Agent, Dispatcher }, trust[SOURCE], options);
}
