/** Why a status document does not speak for all of its processes, to be read after the document's name; undefined when it does. */
export const unheard = (processes: unknown): string | undefined => {
  if (processes === undefined) return undefined; // a document of one process
  if (!Array.isArray(processes)) return 'has a field processes that is not a list';
  const silent = processes.find((one) => typeof one?.pid !== 'number' || one.silent !== undefined);
  if (silent === undefined) return undefined;
  return typeof silent?.pid === 'number'
    ? `speaks for process ${silent.pid}, which gave no answer; is it stopped or hanging, or does it run a thread without register?`
    : 'has a field processes[] without a process id';
};
