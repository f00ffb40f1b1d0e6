import { plan } from '@handover/core';
import type { Catalogue } from '../look/catalogue.ts';
import type { AuthorityId, AuthorityRecord, Home } from '../look/home.ts';
import { observe } from '../observe/observe.ts';
import { type AuthorityStatus, authorityStatus } from './status.ts';

/** Where an authority stands. Both are of one observation: read one after the other they could tell of two moments. */
export interface Progress {
  readonly status: AuthorityStatus;
  readonly record: AuthorityRecord | undefined;
}

export const progressOf = async (home: Home, catalogue: Catalogue, id: AuthorityId): Promise<Progress> => {
  const observation = await observe(home, catalogue, id);
  const { seen, responsibilities, now, record } = observation;
  return { status: authorityStatus(observation, plan(seen, responsibilities.policy, now)), record };
};
