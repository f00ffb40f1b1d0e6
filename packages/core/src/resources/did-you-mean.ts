/** Levenshtein distance with transpositions as one step: `confgiMap` is one slip away, not two. */
const distance = (a: string, b: string): number => {
  let before: number[] = [];
  let row = Array.from({ length: b.length + 1 }, (_, i) => i);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1];
      let best = Math.min((row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1, (row[j - 1] ?? 0) + (same ? 0 : 1));
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) {
        best = Math.min(best, (before[j - 2] ?? 0) + 1);
      }
      next.push(best);
    }
    before = row;
    row = next;
  }
  return row[b.length] ?? 0;
};

/** The one candidate that was probably meant. Case and a missing or extra part of a word are forgiven. */
export const didYouMean = (written: string, candidates: readonly string[]): string | undefined => {
  const low = written.toLowerCase();
  if (low.length === 0 || low.length > 64) return undefined;
  let best: string | undefined;
  let least = Math.max(1, Math.floor(low.length / 3)) + 1;
  for (const candidate of candidates) {
    const known = candidate.toLowerCase();
    const part = low.length >= 3 && (known.includes(low) || (known.length >= 3 && low.includes(known)));
    const cost = part ? Math.min(1, distance(low, known)) : distance(low, known);
    if (cost < least) [best, least] = [candidate, cost];
  }
  return best;
};
