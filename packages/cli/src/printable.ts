export { printable, printableIn } from '@handover/material';

/** `1 leaf`, `2 leaves`. */
export const amount = (count: number, one: string, many = `${one}s`): string =>
  `${count} ${count === 1 ? one : many}`;
