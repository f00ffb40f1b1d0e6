declare const brand: unique symbol;

/** A share between 0 and 1. */
export type Fraction = number & { readonly [brand]: 'Fraction' };

export const PERCENT_PATTERN = /^[1-9][0-9]?%$/;
export const PERCENT_HINT = 'write a whole percentage from 1% to 99%';

/** `80%` as 0.8, or undefined. Neither 0% nor 100%: one would always rotate, the other only after the end. */
export const parsePercent = (text: string): Fraction | undefined =>
  PERCENT_PATTERN.test(text) ? ((Number.parseInt(text, 10) / 100) as Fraction) : undefined;
