import { subjectOf } from './answer.ts';
import { type ApiStatus, apiError, tooLarge } from './api-error.ts';
import { KubeError } from './error.ts';
import { parseJson } from './json.ts';
import type { ResourceKind } from './kinds.ts';
import { Lines } from './lines.ts';
import type { KubeObject } from './object.ts';
import { pathOf, withQuery } from './path.ts';
import type { WatchEvent, WatchOptions, WatchRequest } from './requests.ts';
import type { Session } from './session.ts';

/** Asks for metadata only; a server without that format sends whole objects. */
export const METADATA = 'application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json';
export const METADATA_LIST =
  'application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json';

export const PATCH = {
  merge: 'application/merge-patch+json',
  json: 'application/json-patch+json',
  // The body is JSON, which is YAML too. The API knows this patch by its YAML name only.
  apply: 'application/apply-patch+yaml',
} as const;

/** etcd takes 1.5 MiB an object. Its JSON may be several times as long. */
const MAX_LINE = 16 * 1024 * 1024;
const SILENCE_MS = 150_000;
const LIFETIME_S = 300;

interface RawEvent {
  readonly type?: string;
  readonly object?: unknown;
}

export async function watchOnce<T extends KubeObject>(
  session: Session,
  kind: ResourceKind<T>,
  which: WatchRequest,
  seen: (event: WatchEvent<T>) => void,
  options: WatchOptions,
): Promise<void> {
  const path = pathOf(kind, { namespace: which.namespace });
  const about = `watch of ${path}`;
  const silence = options.silence ?? SILENCE_MS;
  const take = (line: Buffer) => {
    const event = parseJson(line) as RawEvent | null | undefined;
    if (typeof event?.object !== 'object' || event.object === null) {
      const message = `${about}: the server sent an event that is not JSON; watch again`;
      throw new KubeError('KUBE_BAD_ANSWER', message, { retry: 'later', path: about });
    }
    if (event.type === 'ERROR') {
      const status = event.object as ApiStatus;
      throw apiError(status.code ?? 500, status, about);
    }
    seen(event as WatchEvent<T>);
  };
  const lines = new Lines(MAX_LINE, take, () => tooLarge(about, MAX_LINE));
  await session.send({
    subject: subjectOf('watch', kind, { namespace: which.namespace }),
    method: 'GET',
    path: withQuery(path, {
      watch: true,
      allowWatchBookmarks: true,
      // Spread out: after a restart of the server, all watches begin together and must not end together.
      timeoutSeconds: options.lifetime ?? LIFETIME_S + Math.floor(Math.random() * LIFETIME_S),
      labelSelector: which.labelSelector,
      fieldSelector: which.fieldSelector,
      resourceVersion: which.resourceVersion,
      ...(which.sendInitialEvents === true
        ? { sendInitialEvents: true, resourceVersionMatch: 'NotOlderThan' }
        : {}),
    }),
    accept: which.metadataOnly === true ? METADATA : undefined,
    signal: options.signal,
    timeout: options.timeout,
    stream: {
      started: () => options.opened?.(),
      chunk: (bytes) => lines.push(bytes),
      silence,
      silent: () =>
        new KubeError(
          'KUBE_WATCH_SILENT',
          `${about}: the server sent nothing for ${silence} ms; connect again`,
          {
            retry: 'now',
            path: about,
          },
        ),
    },
  });
}
