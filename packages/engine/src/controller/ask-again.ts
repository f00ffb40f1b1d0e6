const LEAST_MS = 1_000;
const MOST_MS = 10_000;

/**
 * How soon consumers are asked again by a step that has waited for them for `waited` milliseconds: each second at first, then after a
 * tenth of that time, so that a server that does not reload is not asked, and does not log a refusal, 60 times a minute.
 */
export const askAgainMs = (waited: number): number => Math.min(MOST_MS, Math.max(LEAST_MS, waited / 10));
