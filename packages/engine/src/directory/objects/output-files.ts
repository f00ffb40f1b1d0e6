import { resolve } from 'node:path';
import { holdsKey } from '@handover/core';
import { EngineError } from '../../error.ts';
import { type Catalogue, idOf, placedTargets, secretOf } from '../../snapshot/catalogue.ts';
import type { ObjectId } from '../../snapshot/home.ts';
import { type Output, outputsOfLeaf, outputsOfTarget } from '../../snapshot/outputs.ts';
import type { Ownership } from '../disk/files.ts';
import type { Copy } from './copies.ts';

type Asked = { readonly who: string; readonly outputs: readonly Output[] };

/** Files in other formats that the resources of a directory ask for, by object. */
const askedIn = (catalogue: Catalogue): ReadonlyMap<ObjectId, Asked> =>
  new Map<ObjectId, Asked>([
    ...catalogue.leaves.map(
      (leaf) => [secretOf(leaf), { who: `Leaf ${idOf(leaf)}`, outputs: outputsOfLeaf(leaf) }] as const,
    ),
    ...catalogue.trustBundles.flatMap((bundle) =>
      placedTargets(bundle, catalogue).map(
        ([object, target]) =>
          [object, { who: `TrustBundle ${bundle.metadata.name}`, outputs: outputsOfTarget(target) }] as const,
      ),
    ),
  ]);

/** The same; two that would write one path are refused. */
export const outputsIn = (catalogue: Catalogue, home: string): ReadonlyMap<ObjectId, readonly Output[]> => {
  const asked = askedIn(catalogue);
  const taken = new Map<string, { readonly object: ObjectId; readonly who: string }>();
  for (const [object, { who, outputs }] of asked) {
    for (const { file } of outputs) {
      if (file === undefined) continue;
      const path = resolve(home, file.path);
      const other = taken.get(path);
      if (other !== undefined)
        throw new EngineError(
          'RESOURCE_CONFLICT',
          other.who === who
            ? `${who} would write ${path} twice (${other.object} and ${object}); give each file a path of its own`
            : `${who} and ${other.who} would both write ${path}; give one of them another path`,
          { path },
        );
      taken.set(path, { object, who });
    }
  }
  return new Map([...asked].map(([object, { outputs }]) => [object, outputs]));
};

type Place = NonNullable<Output['file']>;

/** Files that also lie at paths of their own. */
export const copiesIn = (
  outputs: readonly Output[],
  home: string,
  numbered: (file: Place, mode: string) => Ownership,
): readonly Copy[] =>
  outputs.flatMap(({ name, content, file }) => {
    if (file === undefined) return [];
    const path = resolve(home, file.path);
    if (['out', 'state'].some((folder) => path.startsWith(`${home}/${folder}/`)))
      throw new EngineError(
        'OUTPUT_REFUSED',
        `${path} is in a folder of handover's own; choose another path`,
        { path },
      );
    const isKey = holdsKey(content);
    const { mode = isKey ? '0600' : '0644' } = file;
    return [{ name, path, ownership: numbered(file, mode), holdsKey: isKey }];
  });
