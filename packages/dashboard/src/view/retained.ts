import type { AuthorityPart } from '../document.ts';
import { few, momentOf } from './words.ts';

const MOST_USERS = 6;

/** One sentence for each CA that stays trusted without its key: for which workloads, and until when. Newest first. */
export const retainedWords = ({ status }: AuthorityPart, now: number): readonly string[] =>
  status.generations
    .filter(({ role }) => role === 'retained')
    .map(({ generation, trustedFor = [], trustedUntil }) => {
      const users = trustedFor.length === 0 ? '' : ` for ${few(trustedFor, MOST_USERS)},`;
      const until =
        trustedUntil === undefined ? '' : ` until ${momentOf(Date.parse(trustedUntil), now)} at the latest`;
      return `CA generation ${generation} stays trusted without its key${users}${until}.`;
    });
