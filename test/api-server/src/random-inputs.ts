/** Options of a test with random inputs: a second try would have others, which might hide the fault that these have found. */
export const RANDOM_INPUTS = { retry: 0 } as const;
