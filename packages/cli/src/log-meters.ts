import type { Meters } from '@handover/engine';
import type { ReloadReport, RequestReport } from '@handover/kube';
import type { Logger } from 'pino';

/** Counted events as lines of the log, at level trace. */
export const logMeters = (log: Logger): Meters => ({
  asked: (how, answer) => log.trace({ event: 'asked', how, answer }),
  told: (how, result) => log.trace({ event: 'told', how, result }),
  queue: () => {},
});

export const logRequest =
  (log: Logger) =>
  ({ verb, resource, namespace, name, subresource, status, ms }: RequestReport): void =>
    log.trace({
      event: 'request',
      verb,
      resource,
      ...(subresource === '' ? {} : { subresource }),
      ...(namespace === '' ? {} : { namespace }),
      ...(name === '' ? {} : { name }),
      status,
      ms: Math.round(ms),
    });

/** Reloads of the operator's own client files. */
export const logReload =
  (log: Logger) =>
  ({ what, reason, error }: ReloadReport): void => {
    if (error === undefined) log.info({ event: 'reloaded', what, reason });
    else
      log.warn({ event: 'kept the last good one', what, reason, code: error.code, message: error.message });
  };

export const combineMeters = (...all: readonly Meters[]): Meters => ({
  asked: (how, answer) => {
    for (const each of all) each.asked(how, answer);
  },
  told: (how, result) => {
    for (const each of all) each.told(how, result);
  },
  queue: (depth) => {
    for (const each of all) each.queue(depth);
  },
});
