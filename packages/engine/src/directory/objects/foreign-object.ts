import type { ObjectId, StoredObject } from '../../snapshot/home.ts';
import { digestOf } from '../../snapshot/stored-object.ts';
import type { Volume } from '../disk/volume.ts';
import { directoryEntries } from './entries.ts';
import { foreignObstacle } from './foreign-files.ts';
import { namesOf, objectParts, only } from './object-files.ts';
import type { ObjectOptions } from './object-options.ts';

/** What stands in the place of an object that nothing here has a record of. */
export const foreignObject = (
  { files, root, mayAdopt, outputsOf }: ObjectOptions,
  volume: Volume,
  id: ObjectId,
): StoredObject | undefined => {
  const { folder, key } = objectParts(id);
  const path = `${root}/${folder}`;
  const wanted = [...namesOf(key), ...outputsOf(id)];
  // A folder with a record is ours: what else is in it belongs to other objects, or stays beside them.
  const isOurs = Object.keys(directoryEntries(volume.record)).length > 0;
  const found = [...Object.keys(volume.data), ...volume.beside];
  const names = isOurs ? found.filter((name) => wanted.includes(name)) : found;
  if (names.length === 0) return undefined;
  const plain = wanted.filter((name) => volume.beside.includes(name) && !(name in volume.data));
  const data = {
    ...only(volume.data, wanted),
    ...Object.fromEntries(plain.map((name) => [name, files.read(`${path}/${name}`) ?? new Uint8Array()])),
  };
  const obstacle = mayAdopt(id) ? undefined : foreignObstacle({ path, names, wanted });
  if (obstacle === undefined && Object.keys(data).length === 0) return undefined;
  return {
    data,
    record: undefined,
    version: `plain-${digestOf(data).slice(0, 16)}`,
    ...(obstacle === undefined ? {} : { obstacle }),
  };
};
