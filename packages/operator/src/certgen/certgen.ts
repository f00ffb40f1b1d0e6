import { MANAGED_BY, RELOAD, type Resource } from '@handover/core';
import {
  type CertgenOptions,
  type CertgenResult,
  certgen,
  type Home,
  type IssuedEntry,
  type ObjectId,
  type RandomSecret,
  secretOf,
  takingOver,
  type Unusable,
  unmetIn,
} from '@handover/engine';
import { type Kube, type Secret, secrets } from '@handover/kube';
import { isCode, OperatorError } from '../error.ts';
import { KubeHome } from '../home/home.ts';
import { kindsWith, trustBundleVersion } from '../objects/kinds.ts';
import { type Place, placeOf, placesOf } from '../objects/place.ts';
import { FIELD_MANAGER } from '../objects/record.ts';
import { GivenResources } from '../resources/declarations.ts';
import type { Addresses } from '../workloads/addresses.ts';
import { ListedWorkloads } from '../workloads/listed-workloads.ts';

export interface CertgenHomeOptions {
  readonly kube: Kube;
  /** Where the authority's state lies: the Job's own namespace. */
  readonly namespace: string;
  readonly resources: readonly Resource[];
  /** Whether what is there and not ours may become ours. */
  readonly takesOver: boolean;
  /** A certificate was made; nothing holds it yet. */
  readonly onIssued?: ((entry: IssuedEntry) => void) | undefined;
  /** Which pods may be asked. Default: all but those on loopback and the like. */
  readonly addresses?: Addresses | undefined;
  readonly signal: AbortSignal;
}

/** A cluster for one run: nothing is watched, every look asks, and all rights but `create` and the list of pods end at names. */
export interface CertgenHome {
  readonly home: Home;
  run(options: CertgenOptions): Promise<readonly CertgenResult[]>;
  /** Resources that name one which is not declared. */
  unmet(): Promise<readonly Unusable[]>;
  /** True when it was made; what is there is never touched. */
  makeRandomSecret(secret: RandomSecret): Promise<boolean>;
}

export async function openCertgen(options: CertgenHomeOptions): Promise<CertgenHome> {
  const { kube, namespace, signal } = options;
  const resources = options.takesOver ? takingOver(options.resources) : options.resources;
  const places = resources.flatMap(placesOf);
  const words = wordsIn(resources);
  // Asked for where it matters: a discovery that most clusters' certgen has no use for.
  const version = places.some(({ plural }) => plural === 'clustertrustbundles')
    ? await trustBundleVersion(kube, signal)
    : undefined;
  const home = new KubeHome({
    connection: { kube, signal },
    scope: { kinds: kindsWith({ version }), namespace, trustNamespace: namespace, wide: [], once: true },
    resources: {
      declarations: new GivenResources(resources),
      clusterTrustBundles: () => version !== undefined,
      injectionOf: undefined,
      takeOver: false,
    },
    consumers: {
      found: true,
      workloads: new ListedWorkloads({
        kube,
        namespaces: [...new Set(places.flatMap((place) => place.namespace ?? []))],
        read: places,
        signal,
      }),
      wordOf: (id) => words.get(id),
      nudge: false,
      addresses: options.addresses,
    },
    on: { issued: options.onIssued },
  });
  await refuseWhatOthersKeep(home, places, namespace);
  await home.ready();
  return {
    home,
    run: async (asked) => {
      const results: CertgenResult[] = [];
      for (const id of (await home.resolved()).catalogue.authorities.keys())
        results.push(await certgen(home, id, asked));
      return results;
    },
    unmet: async () => unmetIn((await home.resolved()).catalogue),
    makeRandomSecret: (secret) => makeRandomSecret(kube, secret, home.random, signal),
  };
}

/** The word of a Leaf's owner about the readers of its Secret, where their pods say nothing themselves. */
const wordsIn = (resources: readonly Resource[]): ReadonlyMap<ObjectId, string> =>
  new Map(
    resources.flatMap((resource) => {
      const word = resource.kind === 'Leaf' ? resource.metadata.annotations[RELOAD] : undefined;
      return resource.kind === 'Leaf' && word !== undefined ? [[secretOf(resource), word] as const] : [];
    }),
  );

/**
 * Two states of one authority, each in a namespace of its own, would issue against each other. The keeper of an object has said so
 * on it, in the same write.
 */
const refuseWhatOthersKeep = async (home: KubeHome, places: readonly Place[], own: string): Promise<void> => {
  const found = await Promise.all(places.map((place) => home.ownWrites.held(place)));
  for (const held of found) {
    if (held?.keptIn === undefined || held.keptIn === own || Object.keys(held.entries).length === 0) continue;
    const what = `${held.plural}/${held.name}`;
    throw new OperatorError(
      'CERTGEN_KEPT_ELSEWHERE',
      `${what} is kept from namespace ${held.keptIn}, and this run's state is in ${own}; if an operator runs there ask it with handover rotate, else add --operator-namespace ${held.keptIn}`,
      { path: what },
    );
  }
};

const makeRandomSecret = async (
  kube: Kube,
  { object, key, bytes, labels }: RandomSecret,
  random: (bytes: number) => Uint8Array,
  signal: AbortSignal,
): Promise<boolean> => {
  const { namespace = '', name } = placeOf(object);
  if ((await kube.get(secrets, { namespace, name }, { signal })) !== undefined) return false;
  const secret: Secret = {
    apiVersion: 'v1',
    kind: 'Secret',
    type: 'Opaque',
    metadata: { name, namespace, labels: { ...labels, [MANAGED_BY]: 'handover' } },
    data: { [key]: Buffer.from(random(bytes)).toString('base64') },
  };
  try {
    await kube.create(secrets, secret, { namespace, fieldManager: FIELD_MANAGER, signal });
    return true;
  } catch (error) {
    // Another run was faster.
    if (isCode(error, 'KUBE_ALREADY_EXISTS')) return false;
    throw error;
  }
};
