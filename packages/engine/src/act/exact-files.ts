import type { Obstacle } from '@handover/core';
import type { HandoverError } from '@handover/material';
import { EngineError } from '../error.ts';
import type { FileData, Home, ObjectId, ObjectRecord, StoredObject } from '../snapshot/home.ts';
import type { Snapshot } from '../snapshot/snapshot.ts';
import { digestOf } from '../snapshot/stored-object.ts';

/** Whether an object holds exactly this, and we wrote it. */
export const holdsFiles = (stored: StoredObject | undefined, data: FileData): boolean =>
  stored?.record?.digest === digestOf(data) && digestOf(stored.data) === digestOf(data);

export const obstacleError = (id: ObjectId, obstacle: Obstacle): HandoverError =>
  new EngineError('OBJECT_OBSTACLE', `${id}: ${obstacle}`, { path: id, retry: 'later' });

/** Keeps the files of an object at exactly `data`. True when they had to be written. */
export async function keepFiles(
  home: Home,
  snapshot: Snapshot,
  id: ObjectId,
  data: FileData,
  remembered: Pick<ObjectRecord, 'outputs'> = {},
): Promise<boolean> {
  const stored = await snapshot.objects.read(id);
  if (stored?.obstacle !== undefined) throw obstacleError(id, stored.obstacle);
  if (holdsFiles(stored, data)) return false;
  await home.objects.write(id, stored?.version, (at) => ({
    data,
    record: { digest: digestOf(data), revisions: {}, anchors: [], changedAt: at, ...remembered },
  }));
  return true;
}
