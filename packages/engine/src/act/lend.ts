import { lending } from '@handover/core';
import type { Instant } from '@handover/material';
import type { AuthorityId, AuthorityRecord, AuthorityWriter } from '../look/home.ts';

/**
 * Has the state remember until when a leaf for another program may live, before it is signed. Returns the record that stands then; a state that
 * changed meanwhile is a `CONFLICT`. `isUnseen`: no object will show the leaf.
 */
export const lend = async (
  authorities: AuthorityWriter,
  id: AuthorityId,
  record: AuthorityRecord,
  notAfter: Instant,
  isUnseen: boolean,
): Promise<AuthorityRecord> => {
  const state = lending(record.state, notAfter, isUnseen);
  if (state === undefined) return record;
  const raised = { ...record, state };
  await authorities.swap(id, record.state.revision, raised);
  return raised;
};
