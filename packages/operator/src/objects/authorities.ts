import { createHash } from 'node:crypto';
import {
  AUTHORITY,
  AUTHORITY_UID,
  DISTRUST,
  MANAGED_BY,
  ROTATE,
  STATE_LABEL,
  STATE_TYPE,
  withExternalDates,
} from '@handover/core';
import {
  type AuthorityId,
  type AuthorityReader,
  type AuthorityRecord,
  type AuthorityWriter,
  formatAuthority,
  parseAuthority,
  type Requests,
} from '@handover/engine';
import { type Kube, type KubeErrorCode, type Secret, secrets } from '@handover/kube';
import { HandoverError, type Instant } from '@handover/material';
import { knownAnnotations, MOST_NAME, textOf } from '../cache/bounds.ts';
import { Projection } from '../cache/projection.ts';
import { OperatorError } from '../error.ts';
import { FIELD_MANAGER } from './record.ts';

const KEY = 'authority.json';

/** A name that any `namespace/name` fits into. */
/** Selects the Secrets with the states of authorities. */
export const STATE_LABEL_SELECTOR = `${STATE_LABEL}=true`;

export const stateName = (id: AuthorityId): string =>
  `handover-authority-${createHash('sha256').update(id).digest('hex').slice(0, 24)}`;

const recordIn = (id: AuthorityId, secret: Secret | undefined): AuthorityRecord | undefined => {
  if (secret === undefined) return undefined;
  const path = `Secret ${secret.metadata.namespace}/${secret.metadata.name}`;
  const text = secret.data?.[KEY];
  if (text === undefined)
    throw new OperatorError(
      'STATE_UNREADABLE',
      `${path} lacks the key ${KEY}; restore it from a backup, or delete it`,
      {
        path,
      },
    );
  return parseAuthority(id, Buffer.from(text, 'base64').toString('utf8'), path);
};

const isYounger = (authority: Instant | undefined, { metadata }: Secret): boolean =>
  (authority ?? 0) > (Date.parse(metadata.creationTimestamp ?? '') || Number.POSITIVE_INFINITY);

/** An API server takes no larger Secret. */
const MOST_STATE = 2 * 1_024 * 1_024;

/** Of the Secret with an authority's state: the state, and what people asked for there. */
export const STATES = new Projection<Secret, Secret>('Secret with a state', {
  keep: ({ metadata, data }) => {
    const { name, namespace, uid, resourceVersion, creationTimestamp, annotations = {} } = metadata;
    const own = [AUTHORITY, AUTHORITY_UID].flatMap((key) => {
      const value = textOf(annotations[key], 2 * MOST_NAME);
      return value === undefined ? [] : [[key, value]];
    });
    const asked = knownAnnotations('resource', annotations);
    const state = data?.[KEY];
    return {
      metadata: {
        ...{ name, namespace, uid, resourceVersion, creationTimestamp },
        annotations: { ...asked, ...Object.fromEntries(own) },
      } as Secret['metadata'],
      ...(state === undefined ? {} : { data: { [KEY]: state } }),
    };
  },
  most: MOST_STATE,
  essential: true,
});

export interface StateOptions {
  readonly kube: Kube;
  /** The operator's own. */
  readonly namespace: string;
  readonly signal: AbortSignal;
  /** UID of the Authority as it is declared now; undefined: it is declared without one, in a file or by a program. */
  readonly uidOf: (id: AuthorityId) => string | undefined;
  /** When that Authority was created. */
  readonly createdAtOf: (id: AuthorityId) => Instant | undefined;
}

/** One Secret per authority, replaced whole by one compare-and-swap at a time. */
export class KubeAuthorities implements AuthorityReader, AuthorityWriter {
  readonly #options: StateOptions;
  /** States written here, with the version that each replaced, until a watch shows them. */
  readonly #written = new Map<AuthorityId, { readonly over: string | undefined; readonly secret: Secret }>();
  readonly #parsed = new Map<AuthorityId, { readonly version: string; readonly record: AuthorityRecord }>();

  constructor(options: StateOptions) {
    this.#options = options;
  }

  readonly placeOf = (id: AuthorityId): string => `Secret ${this.#options.namespace}/${stateName(id)}`;

  async load(id: AuthorityId): Promise<AuthorityRecord | undefined> {
    return this.parsed(id, await this.#secret(id));
  }

  /** A namespace that was deleted and made again, perhaps by other people, must not inherit a CA's key. */
  #refuseAnothers(id: AuthorityId, secret: Secret | undefined): void {
    const { namespace, uidOf, createdAtOf } = this.#options;
    const [bound, own] = [secret?.metadata.annotations?.[AUTHORITY_UID], uidOf(id)];
    if (secret === undefined || own === undefined || bound === own) return;
    // A state without a UID, from a file or an earlier version, is the Authority's that was there before it.
    if (bound === undefined && !isYounger(createdAtOf(id), secret)) return;
    const name = stateName(id);
    throw new OperatorError(
      'STATE_OF_ANOTHER',
      `Authority ${id} was deleted and created again, and this Secret holds the state of the deleted Authority (its UID differs); to go on with that CA: kubectl -n ${namespace} annotate secret ${name} ${AUTHORITY_UID}=${own} --overwrite; to begin with a new CA: kubectl -n ${namespace} delete secret ${name}`,
      { path: id, retry: 'later' },
    );
  }

  /** What a watch shows of a state, or our own write that it does not show yet. */
  newest(id: AuthorityId, watched: Secret | undefined): Secret | undefined {
    const own = this.#written.get(id);
    if (own === undefined) return watched;
    if (watched?.metadata.resourceVersion === own.over) return own.secret;
    this.#written.delete(id);
    return watched;
  }

  /** Parsing keys and certificates takes longer than everything else in a look. */
  parsed(id: AuthorityId, secret: Secret | undefined): AuthorityRecord | undefined {
    this.#refuseAnothers(id, secret);
    const version = secret?.metadata.resourceVersion;
    const before = this.#parsed.get(id);
    if (version !== undefined && before?.version === version) return before.record;
    const record = recordIn(id, secret);
    if (record === undefined || version === undefined) this.#parsed.delete(id);
    else this.#parsed.set(id, { version, record });
    return record;
  }

  #secret(id: AuthorityId): Promise<Secret | undefined> {
    const { kube, namespace, signal } = this.#options;
    return kube.get(secrets, { namespace, name: stateName(id) }, { signal });
  }

  async swap(id: AuthorityId, expect: number | undefined, record: AuthorityRecord): Promise<void> {
    const { kube, namespace, signal } = this.#options;
    const found = await this.#secret(id);
    const uid = this.#options.uidOf(id);
    this.#refuseAnothers(id, found);
    const stored = recordIn(id, found)?.state;
    if (stored?.revision !== expect) throw changed(id);
    // Leaves that were signed for others meanwhile changed no revision.
    const state = withExternalDates(record.state, stored);
    const body: Secret = {
      apiVersion: 'v1',
      kind: 'Secret',
      type: STATE_TYPE,
      metadata: {
        ...(found === undefined ? { name: stateName(id), namespace } : found.metadata),
        labels: {
          ...found?.metadata.labels,
          [STATE_LABEL]: 'true',
          [MANAGED_BY]: 'handover',
        },
        annotations: {
          ...found?.metadata.annotations,
          [AUTHORITY]: id,
          ...(uid === undefined ? {} : { [AUTHORITY_UID]: uid }),
        },
      },
      data: { [KEY]: Buffer.from(formatAuthority(id, { ...record, state }), 'utf8').toString('base64') },
    };
    try {
      const secret =
        found === undefined
          ? await kube.create(secrets, body, { namespace, fieldManager: FIELD_MANAGER, signal })
          : await kube.update(secrets, body, { fieldManager: FIELD_MANAGER, signal });
      if (found !== undefined) this.#written.set(id, { over: found.metadata.resourceVersion, secret });
    } catch (error) {
      const code = error instanceof HandoverError ? error.code : '';
      // What is missing when something new is made is its namespace: looking again would not help.
      const lost = found === undefined ? code === 'KUBE_ALREADY_EXISTS' : LOST.has(code);
      throw lost ? changed(id, error) : error;
    }
  }
}

const LOST: ReadonlySet<string> = new Set<KubeErrorCode>(['KUBE_CONFLICT', 'KUBE_NOT_FOUND']);
const changed = (id: AuthorityId, cause?: unknown): HandoverError =>
  new OperatorError('CONFLICT', `${id} changed meanwhile; looking again`, { retry: 'now', path: id, cause });

const listed = (text: string | undefined): readonly string[] =>
  (text ?? '')
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== '');

/** What people wrote on an Authority, or on its Secret where there are no custom resources. Ids stay: the same never rotates twice. */
export const requestsIn = (
  ...annotated: readonly (Readonly<Record<string, string>> | undefined)[]
): Requests => ({
  rotate: [...new Set(annotated.flatMap((annotations) => listed(annotations?.[ROTATE])))],
  distrust: annotated
    .flatMap((annotations) => listed(annotations?.[DISTRUST]))
    .filter((item) => /^\d{1,6}$/.test(item))
    .map(Number),
});
