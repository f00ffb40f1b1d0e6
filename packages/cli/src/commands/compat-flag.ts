import { COMPAT, type Compat } from '@handover/core';
import { usageError } from '../error-line.ts';

/** The words between the commas of a flag. */
export const listed = (text: string): readonly string[] =>
  text
    .split(',')
    .map((word) => word.trim())
    .filter((word) => word !== '');

/** `--compat` of `install` and of `operator`. */
export const compatIn = (text: string): readonly Compat[] =>
  listed(text).map((word) => {
    const known = COMPAT.find((name) => name === word);
    if (known !== undefined) return known;
    throw usageError(`unknown value "${word.slice(0, 80)}" for --compat; known: ${COMPAT.join(', ')}`);
  });
