import type { Source } from './fresh.ts';
import type { Place } from './place.ts';

/**
 * What the caches have, and what they do not follow and a pass may need once: that pass asks for it and waits for the answer, and
 * no other does.
 */
export const askingSource = (cache: Source, server: Source, isAsked: (place: Place) => boolean): Source => ({
  held: async (place) => (await cache.held(place)) ?? (isAsked(place) ? server.held(place) : undefined),
  all: (plural) => cache.all(plural),
});
