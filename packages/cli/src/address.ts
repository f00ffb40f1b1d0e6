import { usageError } from './error-line.ts';

/** `host:port`; what a port alone means is up to the flag. */
export const addressIn = (
  flag: string,
  text: string,
  { host, example }: { readonly host: string; readonly example: string },
): { readonly host: string; readonly port: number } => {
  const found = /^(.*):(\d{1,5})$/.exec(text);
  const port = Number(found?.[2]);
  if (found === null || port > 65_535)
    throw usageError(`${flag} ${text.slice(0, 80)} is no address; write host:port, such as ${example}`);
  return { host: found[1] === undefined || found[1] === '' ? host : found[1].replace(/^\[|\]$/g, ''), port };
};
