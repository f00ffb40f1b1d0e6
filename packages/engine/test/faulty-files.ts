import { diskFiles, type Files } from '../src/index.ts';

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
    symlink: guard(diskFiles.symlink),
    link: guard(diskFiles.link),
    rename: guard(diskFiles.rename),
    remove: guard(diskFiles.remove),
    sync: guard(diskFiles.sync),
    writes: () => writes,
  };
};
