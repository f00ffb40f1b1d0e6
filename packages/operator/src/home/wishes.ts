/** Wishes that were carried out stay for a while, so that people can see what was asked for. */
const MOST_KEPT = 5;

/** Adds to what is already asked for: a later wish pushes out none that has not been taken up yet. */
export const withWish = (
  known: readonly string[],
  wish: string,
  isTaken: (wish: string) => boolean,
): readonly string[] => {
  let surplus = known.length + 1 - MOST_KEPT;
  const kept = known.filter((item) => !isTaken(item) || surplus-- <= 0);
  return [...kept, wish];
};
