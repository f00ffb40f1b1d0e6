import { text } from './fields.ts';

/** A user or a group of the machine. */
export const account = (what: string) =>
  text(/^([A-Za-z_][-A-Za-z0-9_.]{0,31}|[0-9]{1,10})$/, 32, what, 'give a name, or a number in quotes');

/** Permissions of a file, in octal digits. */
export const mode = (form: RegExp, hint: string) => text(form, 4, 'a mode', hint);
