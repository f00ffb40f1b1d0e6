import { diskFiles, type Files } from '../src/index.ts';

export class Killed extends Error {}

/** The disk, until the given write; from then on the process is dead, or the disk refuses. */
export const faultyFiles = (
  at: number,
  fault: 'killed' | NodeJS.ErrnoException['code'] = 'killed',
): Files & { readonly writes: () => number } => {
  let writes = 0;
  const before = (): void => {
    writes++;
    if (writes < at) return;
    if (fault === 'killed') throw new Killed(`killed before write ${writes}`);
    if (writes === at) throw Object.assign(new Error(fault), { code: fault });
  };
  const guard =
    <Args extends unknown[], T>(work: (...args: Args) => Promise<T>) =>
    async (...args: Args): Promise<T> => {
      before();
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
