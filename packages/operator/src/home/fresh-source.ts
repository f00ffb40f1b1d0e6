import { FreshSource, type GetByName, type Source } from '../objects/fresh.ts';
import type { OwnWritesCache } from '../objects/own-writes-cache.ts';
import { isField } from '../objects/place.ts';
import type { KubeHomeOptions } from './options.ts';
import type { Resolver } from './resolver.ts';

/** What the API server has now; whatever it lists, it lists once. Fields stay as the cache has them: docs/decisions/0305. */
export const freshSource = (
  { connection: { kube, signal }, scope: { kinds, wide, namespaces } }: KubeHomeOptions,
  ownWrites: OwnWritesCache,
  named: GetByName,
  resolver: Resolver,
): Source => {
  const server =
    wide.length === 0
      ? named
      : new FreshSource(
          { kube, kinds, namespaces, signal },
          (place) => ownWrites.isStranger(place) || resolver.isWanted(place),
        );
  return {
    held: (place) => (isField(place) ? ownWrites.held(place) : server.held(place)),
    all: (plural) =>
      plural === 'secrets' || plural === 'configmaps' ? server.all(plural) : ownWrites.all(plural),
  };
};
