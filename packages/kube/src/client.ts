import type { Clock } from '@handover/material';
import { parseAnswer, subjectOf } from './answer.ts';
import type { ServerClock } from './clock.ts';
import { isCode, KubeError } from './error.ts';
import { apiVersionOf, type ResourceKind } from './kinds.ts';
import type { Fence, Kube } from './kube.ts';
import type { KubeConfig } from './kubeconfig/config.ts';
import type { KubeObject } from './object.ts';
import { pathOf, type Query, type ResourcePlace, withQuery } from './path.ts';
import type {
  CallOptions,
  CreateOptions,
  DeleteOptions,
  GetRequest,
  List,
  ListRequest,
  PatchOptions,
  PatchTarget,
  RawAnswer,
  RawOptions,
  UpdateOptions,
  WatchEvent,
  WatchOptions,
  WatchRequest,
  WriteOptions,
} from './requests.ts';
import { type Call, type ConnectOptions, Session, statusIn } from './session.ts';
import { METADATA, METADATA_LIST, PATCH, watchOnce } from './watch-once.ts';

const PAGE = 500;
/** A page aims at this many bytes, and one with more than twice as many is read again, smaller: a page is in memory whole, several times over. */
const PAGE_BYTES = 3 * 1024 * 1024;
/** One object alone may have more: etcd takes 1.5 MiB, of which JSON may be several times as much. */
const OBJECT_BYTES = 16 * 1024 * 1024;

interface RawList<T> {
  readonly items?: readonly T[] | null;
  readonly metadata?: { readonly resourceVersion?: string; readonly continue?: string };
}

/** Pages of one moment, each about as large as the page before it lets expect; a page that is too large is read again at a quarter. */
async function* pagesOf<T extends KubeObject>(
  session: Session,
  kind: ResourceKind<T>,
  which: ListRequest,
  { signal, timeout }: CallOptions,
): AsyncGenerator<List<T>, void, undefined> {
  const path = pathOf(kind, { namespace: which.namespace });
  let whole = which.limit === 0;
  let most = which.limit || PAGE;
  let limit = most;
  let next: string | undefined;
  for (;;) {
    const query = {
      labelSelector: which.labelSelector,
      fieldSelector: which.fieldSelector,
      limit: whole ? undefined : limit,
      continue: next,
      // From the second page on, the continue token holds the version.
      resourceVersion: next === undefined ? which.resourceVersion : undefined,
    };
    let list: RawList<T>;
    try {
      const reply = await session.send({
        subject: subjectOf('list', kind, { namespace: which.namespace }),
        method: 'GET',
        path: withQuery(path, query),
        accept: which.metadataOnly === true ? METADATA_LIST : undefined,
        signal,
        timeout,
        ...(whole ? {} : { maxBytes: limit === 1 ? OBJECT_BYTES : 2 * PAGE_BYTES }),
      });
      list = parseAnswer<RawList<T>>(reply, `GET ${path}`);
      const each = reply.body.length / Math.max(1, list.items?.length ?? 0);
      if (!whole) limit = Math.min(most, Math.max(1, Math.floor(PAGE_BYTES / Math.max(1, each))));
    } catch (error) {
      if (!isCode(error, 'KUBE_TOO_LARGE') || limit === 1) throw error;
      whole = false;
      most = Math.max(1, Math.floor(limit / 2));
      limit = Math.max(1, Math.floor(limit / 4));
      continue;
    }
    const { metadata = {} } = list;
    next = metadata.continue === '' ? undefined : metadata.continue;
    yield { items: list.items ?? [], resourceVersion: metadata.resourceVersion ?? '' };
    if (next === undefined) return;
  }
}

const REMEMBER_MS = 60_000;

interface Known {
  readonly at: number;
  readonly resources: Promise<ReadonlySet<string>>;
}

/** The kinds that the server has, by group and version. */
export class Discovery {
  readonly #session: Session;
  readonly #known = new Map<string, Known>();

  constructor(session: Session) {
    this.#session = session;
  }

  async serves(group: string, version: string, plural: string, options: CallOptions): Promise<boolean> {
    const path = group === '' ? `/api/${version}` : `/apis/${group}/${version}`;
    const known = this.#known.get(path);
    if (known !== undefined && this.#session.clock.monotonic() - known.at < REMEMBER_MS) {
      return (await known.resources).has(plural);
    }
    const resources = this.#ask(path, group, version, options);
    this.#known.set(path, { at: this.#session.clock.monotonic(), resources });
    resources.catch(() => this.#known.delete(path));
    return (await resources).has(plural);
  }

  async #ask(
    path: string,
    group: string,
    version: string,
    { signal, timeout }: CallOptions,
  ): Promise<ReadonlySet<string>> {
    try {
      const { body } = await this.#session.send({
        subject: subjectOf('discover', { group, version, plural: '' }, {}),
        method: 'GET',
        path,
        signal,
        timeout,
      });
      const { resources } = statusIn(body) as { resources?: readonly { readonly name?: string }[] };
      return new Set((resources ?? []).map(({ name }) => name ?? ''));
    } catch (error) {
      if (isCode(error, 'KUBE_NOT_FOUND')) return new Set();
      throw error;
    }
  }
}

/** The current term. Throws when no term is held, or another than the given one. */
function mustHold(fence: Fence, term?: number): number {
  const now = fence.term;
  if (now === undefined || (term !== undefined && now !== term)) {
    throw new KubeError(
      'LEASE_LOST',
      'this process has lost its lease, so the write did not leave; wait until it leads again, then decide again',
      { retry: 'later' },
    );
  }
  return now;
}

const NO_KIND = { group: '', version: '', plural: '' };

const writeQuery = ({ fieldManager, dryRun }: WriteOptions): Query => ({
  fieldManager,
  dryRun: dryRun === true ? 'All' : undefined,
});

const placeOf = ({ metadata }: KubeObject, subresource?: string): ResourcePlace => ({
  namespace: metadata.namespace,
  name: metadata.name,
  subresource,
});

const callOptions = ({ signal, timeout }: CallOptions) => ({ signal, timeout });

class Client implements Kube {
  readonly clock: Clock;
  readonly serverClock: ServerClock;
  readonly #session: Session;
  readonly #fence: Fence | undefined;
  readonly #discovery: Discovery;

  constructor(session: Session, discovery: Discovery, fence?: Fence) {
    this.#session = session;
    this.clock = session.clock;
    this.serverClock = session.serverClock;
    this.#discovery = discovery;
    this.#fence = fence;
  }

  get config(): KubeConfig {
    return this.#session.config;
  }

  get connections(): number {
    return this.#session.connections;
  }

  async get<T extends KubeObject>(
    kind: ResourceKind<T>,
    which: GetRequest,
    options: CallOptions = {},
  ): Promise<T | undefined> {
    try {
      return await this.#object<T>({
        subject: subjectOf('get', kind, which),
        method: 'GET',
        path: withQuery(pathOf(kind, which), { resourceVersion: which.resourceVersion }),
        accept: which.metadataOnly === true ? METADATA : undefined,
        ...callOptions(options),
      });
    } catch (error) {
      if (isCode(error, 'KUBE_NOT_FOUND')) return undefined;
      throw error;
    }
  }

  async list<T extends KubeObject>(
    kind: ResourceKind<T>,
    which: ListRequest = {},
    options: CallOptions = {},
  ): Promise<List<T>> {
    for (let tries = 0; ; tries++) {
      try {
        const items: T[] = [];
        let first: List<T> | undefined;
        for await (const page of this.pages(kind, which, options)) {
          first ??= page;
          for (const item of page.items) items.push(item);
        }
        return { items, resourceVersion: first?.resourceVersion ?? '' };
      } catch (error) {
        if (tries > 0 || !isCode(error, 'KUBE_GONE')) throw error;
      }
    }
  }

  pages<T extends KubeObject>(
    kind: ResourceKind<T>,
    which: ListRequest = {},
    options: CallOptions = {},
  ): AsyncGenerator<List<T>, void, undefined> {
    return pagesOf<T>(this.#session, kind, which, options);
  }

  watch<T extends KubeObject>(
    kind: ResourceKind<T>,
    which: WatchRequest,
    seen: (event: WatchEvent<T>) => void,
    options: WatchOptions = {},
  ): Promise<void> {
    return watchOnce(this.#session, kind, which, seen, options);
  }

  serves(group: string, version: string, plural: string, options: CallOptions = {}): Promise<boolean> {
    return this.#discovery.serves(group, version, plural, options);
  }

  async create<T extends KubeObject>(
    kind: ResourceKind<T>,
    object: T,
    options: CreateOptions = {},
  ): Promise<T> {
    const namespace = options.namespace ?? object.metadata.namespace;
    const place = {
      namespace,
      ...(options.subresource === undefined
        ? {}
        : { name: options.name ?? object.metadata.name, subresource: options.subresource }),
    };
    if (kind.namespaced && namespace === undefined) {
      throw new KubeError(
        'KUBE_NAME_INVALID',
        `a new ${kind.kind} needs a namespace; set metadata.namespace`,
      );
    }
    return this.#write<T>('create', kind, place, {
      method: 'POST',
      query: writeQuery(options),
      body: typed(kind, object, options.subresource),
      options,
    });
  }

  async update<T extends KubeObject>(
    kind: ResourceKind<T>,
    object: T,
    options: UpdateOptions = {},
  ): Promise<T> {
    return this.#write<T>('update', kind, placeOf(object, options.subresource), {
      method: 'PUT',
      query: writeQuery(options),
      body: typed(kind, object, options.subresource),
      options,
    });
  }

  async patch<T extends KubeObject>(
    kind: ResourceKind<T>,
    which: PatchTarget,
    options: PatchOptions,
  ): Promise<T> {
    const { merge, json, apply, force } = options;
    const [how, body] =
      apply !== undefined
        ? (['apply', typed(kind, apply as KubeObject)] as const)
        : json !== undefined
          ? (['json', json] as const)
          : (['merge', merge] as const);
    if (how === 'apply' && (options.fieldManager ?? '') === '') {
      throw new KubeError('OPTION_INVALID', 'an apply patch needs a fieldManager');
    }
    return this.#write<T>(how === 'apply' ? 'apply' : 'patch', kind, which, {
      method: 'PATCH',
      // The API accepts `force` only with apply.
      query: { ...writeQuery(options), force: how === 'apply' && force === true ? true : undefined },
      contentType: PATCH[how],
      body,
      options,
    });
  }

  async delete<T extends KubeObject>(
    kind: ResourceKind<T>,
    which: { readonly namespace?: string | undefined; readonly name: string },
    options: DeleteOptions = {},
  ): Promise<boolean> {
    const { uid, resourceVersion, gracePeriodSeconds, propagationPolicy, dryRun } = options;
    const preconditions =
      uid === undefined && resourceVersion === undefined ? undefined : { uid, resourceVersion };
    const body = {
      apiVersion: 'v1',
      kind: 'DeleteOptions',
      preconditions,
      gracePeriodSeconds,
      propagationPolicy,
      dryRun: dryRun === true ? ['All'] : undefined,
    };
    try {
      await this.#write('delete', kind, which, { method: 'DELETE', query: {}, body, options });
      return true;
    } catch (error) {
      if (isCode(error, 'KUBE_NOT_FOUND')) return false;
      throw error;
    }
  }

  async raw(method: string, path: string, options: RawOptions = {}): Promise<RawAnswer> {
    if (!path.startsWith('/') || path.startsWith('//')) {
      throw new KubeError('OPTION_INVALID', `a path of the API server begins with one slash, not "${path}"`);
    }
    const writes = method !== 'GET' && method !== 'HEAD' && method !== 'OPTIONS';
    const { status, body } = await this.#session.send({
      subject: subjectOf(method.toLowerCase(), NO_KIND, { name: path.split('?', 1)[0] }),
      method,
      path,
      accept: options.accept ?? 'application/json, */*',
      contentType: options.contentType ?? (options.body === undefined ? undefined : 'application/json'),
      body: options.body,
      maxBytes: options.maxBytes,
      mayLeave: writes ? this.#guard() : undefined,
      ...callOptions(options),
    });
    return { status, body: body.toString('utf8') };
  }

  fenced(fence: Fence): Kube {
    return new Client(this.#session, this.#discovery, fence);
  }

  /** A write leaves only in the term in which it was decided. */
  #guard(): (() => void) | undefined {
    const fence = this.#fence;
    if (fence === undefined) return undefined;
    const term = mustHold(fence);
    return () => mustHold(fence, term);
  }

  async #write<T extends KubeObject>(
    verb: string,
    kind: ResourceKind,
    place: ResourcePlace,
    write: {
      readonly method: string;
      readonly query: Query;
      readonly body: unknown;
      readonly contentType?: string;
      readonly options: CallOptions;
    },
  ): Promise<T> {
    if (write.method !== 'POST' && (place.name ?? '') === '') {
      throw new KubeError(
        'KUBE_NAME_INVALID',
        `a ${kind.kind} without a name cannot be written; set metadata.name`,
      );
    }
    const writing = this.#object<T>({
      subject: subjectOf(verb, kind, place),
      method: write.method,
      path: withQuery(pathOf(kind, place), write.query),
      contentType: write.contentType ?? 'application/json',
      body: JSON.stringify(write.body),
      mayLeave: this.#guard(),
      ...callOptions(write.options),
    });
    return this.#fence?.during?.(writing) ?? writing;
  }

  async #object<T extends object>(call: Call): Promise<T> {
    const reply = await this.#session.send(call);
    return parseAnswer<T>(reply, `${call.method} ${call.path.split('?', 1)[0]}`);
  }
}

/** Adds apiVersion and kind, which objects from a list lack. A subresource may have a kind of its own. */
function typed(kind: ResourceKind, object: KubeObject, subresource?: string): KubeObject {
  if (subresource !== undefined && object.kind !== undefined) return object;
  return { ...object, apiVersion: apiVersionOf(kind), kind: kind.kind };
}

/** Reads no file and opens no connection before the first request. */
export function connect(config: KubeConfig, options: ConnectOptions = {}): Kube {
  const session = new Session(config, options);
  return new Client(session, new Discovery(session));
}
