import { usageError } from '../error-line.ts';

const parse = (option: string, text: string, least: number, most: number, pattern: RegExp): number => {
  const value = Number(text);
  if (!pattern.test(text) || value < least || value > most) {
    throw usageError(
      `${option}: "${text.slice(0, 40)}" is not valid; give a number from ${least} to ${most}`,
    );
  }
  return value;
};

/** A whole number, digits only: Number() would also take '', '0x10' and '1e3'. */
export const number =
  (option: string, least: number, most: number) =>
  (text: string): number =>
    parse(option, text, least, most, /^\d{1,15}$/);

/** Numbers between commas, fractions allowed. */
export const numbers =
  (option: string, least: number, most: number) =>
  (text: string): readonly number[] => {
    const parts = text.split(',');
    if (parts.length > 1_000) throw usageError(`${option} has ${parts.length} values; give at most 1000`);
    return parts.map((part) => parse(option, part.trim(), least, most, /^\d{1,9}(\.\d{1,3})?$/));
  };
