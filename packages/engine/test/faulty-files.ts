import { diskFiles, type Files } from '../src/index.ts';

/**
 * Writes at which a process is killed. Tests of tier unit take every `every`th, beginning with another one for each `from`; tests of tier
 * system take all.
 */
export const killsAt = (writes: number, every: number, from = 0): readonly number[] =>
  Array.from({ length: writes }, (_, index) => index + 1).filter((at) => at % every === from % every);

export class Killed extends Error {}

/** The disk, until the given write; from then on every write throws, as if the process had been killed. */
export const faultyFiles = (at: number): Files & { readonly writes: () => number } => {
  let writes = 0;
  const guard =
    <Args extends unknown[], T>(work: (...args: Args) => Promise<T>) =>
    async (...args: Args): Promise<T> => {
      if (++writes >= at) throw new Killed(`killed before write ${writes}`);
      return work(...args);
    };
  return {
    ...diskFiles,
    makeDirectory: guard(diskFiles.makeDirectory),
    create: guard(diskFiles.create),
    append: guard(diskFiles.append),
    overwrite: diskFiles.overwrite,
    symlink: guard(diskFiles.symlink),
    link: guard(diskFiles.link),
    rename: guard(diskFiles.rename),
    remove: guard(diskFiles.remove),
    sync: guard(diskFiles.sync),
    writes: () => writes,
  };
};
