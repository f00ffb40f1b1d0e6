/** Requests that were carried out stay for a while, so that users see what was asked for. */
const MOST_KEPT = 5;

/** Adds a request to the known ones. It pushes out only requests that were taken up. */
export const withRequest = (
  known: readonly string[],
  wish: string,
  isTaken: (wish: string) => boolean,
): readonly string[] => {
  let surplus = known.length + 1 - MOST_KEPT;
  const kept = known.filter((item) => !isTaken(item) || surplus-- <= 0);
  return [...kept, wish];
};
