import type { ClusterProfile } from '@handover/engine';
import { type Kube, type KubeObject, type KubeReader, kindOf } from '@handover/kube';
import { HandoverError, isMap } from '@handover/material';
import { beginningOf } from '../cache/bounds.ts';
import { Projection } from '../cache/projection.ts';
import { Watched } from '../cache/watched.ts';
import { OperatorError, type OperatorErrorCode } from '../error.ts';

const API_SERVERS = kindOf('config.openshift.io/v1', 'apiservers', 'APIServer', false);
export const CLUSTER_VERSIONS = kindOf('config.openshift.io/v1', 'clusterversions', 'ClusterVersion', false);
/** The only one there is. */
const NAME = 'cluster';

type Asked = Extract<ClusterProfile, { found: unknown }>['found'];

/** OpenSSL knows fewer ciphers. One more than that is refused by what is kept of the list: its length. */
const MOST_TEXTS = 256;
const MOST_TEXT = 128;
const text = (value: unknown): string | undefined =>
  value === undefined || value === null
    ? undefined
    : beginningOf(typeof value === 'object' ? 'no text' : String(value), MOST_TEXT);
const texts = (value: unknown): readonly string[] | undefined =>
  Array.isArray(value) ? value.slice(0, MOST_TEXTS).map((item) => text(item) ?? '') : undefined;

/** `.spec.tlsSecurityProfile` of an APIServer, taken as it is: what it comes to is decided where all profiles are. */
export const askedBy = ({ spec }: KubeObject): Asked => {
  const profile = isMap(spec) ? spec.tlsSecurityProfile : undefined;
  if (!isMap(profile)) return {};
  const { type, custom } = profile;
  return {
    type: text(type),
    ...(isMap(custom)
      ? {
          custom: {
            ciphers: texts(custom.ciphers),
            minTLSVersion: text(custom.minTLSVersion),
            groups: texts(custom.groups),
          },
        }
      : {}),
  };
};

export const PLATFORM_PROFILE: Projection<KubeObject, NonNullable<Asked>> = new Projection('APIServer', {
  keep: (object) => askedBy(object) ?? {},
  most: 128 * 1_024,
});

const problem = (code: OperatorErrorCode, message: string, cause?: unknown): HandoverError =>
  new OperatorError(code, message, { retry: 'later', path: `APIServer/${NAME}`, cause });

const absent = (): ClusterProfile => ({
  missing: problem(
    'TLS_PROFILE_SOURCE_MISSING',
    `APIServer/${NAME} does not exist; make it, or name a profile`,
  ),
});

/** Why it cannot be read. */
export const whyUnreadable = (error: Error | undefined): HandoverError => {
  const code = error instanceof HandoverError ? error.code : '';
  if (code === 'KUBE_NOT_FOUND')
    return problem(
      'TLS_PROFILE_SOURCE_MISSING',
      'this cluster has no config.openshift.io/v1 APIServer; name a profile: Old, Intermediate, Modern or Custom',
      error,
    );
  if (code === 'KUBE_FORBIDDEN')
    return problem(
      'TLS_PROFILE_SOURCE_FORBIDDEN',
      `APIServer/${NAME} may not be read; install with --openshift`,
      error,
    );
  return problem(
    'TLS_PROFILE_SOURCE_UNAVAILABLE',
    `APIServer/${NAME} cannot be read now${error === undefined ? '' : `: ${error.message}`}; it is tried again`,
    error,
  );
};

/** Failed tries in a row after which its last answer is called old: a restart of the API server is not worth a word. */
const SEVERAL = 3;

/** OpenShift's APIServer/cluster, watched from the first time it is needed. */
export class OpenShiftProfile {
  readonly #informer: Watched<KubeObject, NonNullable<Asked>>;
  readonly #signal: AbortSignal;

  constructor(kube: Kube, signal: AbortSignal, onChange: () => void) {
    this.#signal = signal;
    this.#informer = new Watched(kube, API_SERVERS, {
      fieldSelector: `metadata.name=${NAME}`,
      projection: PLATFORM_PROFILE,
    });
    this.#informer.on('changed', ({ before, after }) => {
      // The rest of it is no business of ours.
      if (JSON.stringify(before) !== JSON.stringify(after)) onChange();
    });
    this.#informer.on('synced', onChange);
    this.#informer.on('trouble', onChange);
  }

  /** The last answer, however old: an API server that does not answer changes no profile. Then it says why it is old. */
  async read(): Promise<ClusterProfile> {
    this.#informer.start(this.#signal);
    const found = this.#informer.get(NAME);
    const { failures, lastError } = this.#informer.state;
    if (found !== undefined)
      return failures < SEVERAL ? { found } : { found, stale: whyUnreadable(lastError) };
    return this.#informer.synced ? absent() : { missing: whyUnreadable(lastError) };
  }
}

/** The same, read once, for a command that only looks. */
export const readOpenShiftProfile = async (
  kube: KubeReader,
  signal: AbortSignal,
): Promise<ClusterProfile> => {
  try {
    const { group, version, plural } = API_SERVERS;
    if (!(await kube.serves(group, version, plural, { signal })))
      return { missing: whyUnreadable(new OperatorError('KUBE_NOT_FOUND', 'no such API')) };
    const found = await kube.get(API_SERVERS, { name: NAME }, { signal });
    return found === undefined ? absent() : { found: askedBy(found) };
  } catch (error) {
    if (error instanceof HandoverError) return { missing: whyUnreadable(error) };
    throw error;
  }
};
