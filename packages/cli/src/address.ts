import { usageError } from './error-line.ts';

/** Parses `host:port`, or a port alone, to listen on; `otherwise` is the default host. */
export const listenAddress =
  (option: string, otherwise: string) =>
  (text: string): readonly [string, number] => {
    const found = /^(?:(?:\[([0-9a-f:.]+)\]|([^:]*)):)?(\d{1,5})$/i.exec(text);
    const port = Number(found?.[3]);
    if (found === null || port > 65_535)
      throw usageError(
        `${option}: "${text.slice(0, 80)}" is not an address; write host:port, such as 127.0.0.1:8081`,
      );
    const host = found[1] ?? found[2] ?? '';
    return [host === '' ? otherwise : host, port];
  };
