import { parseResources, type Resource } from '@handover/core';
import { HandoverError } from '@handover/material';
import { LineCounter, parseAllDocuments } from 'yaml';
import type { FileReader } from './files.ts';

/** Far more than anybody writes by hand; a bigger file is there by mistake. */
const MAX_YAML_BYTES = 1024 * 1024;

/** Every document of one YAML text. Errors name file, line and column. */
export function readYaml(text: string, name: string): readonly { value: unknown; where: string }[] {
  const refuse = (at: string, why: string): never => {
    throw new HandoverError('YAML_INVALID', `${at}: ${why}`, { path: name });
  };
  if (Buffer.byteLength(text) > MAX_YAML_BYTES) return refuse(name, 'is over 1 MiB; split it');
  const lineCounter = new LineCounter();
  const documents = parseAllDocuments(text, { lineCounter, prettyErrors: false, stringKeys: true });
  if (!Array.isArray(documents)) return [];
  const place = (offset: number): string => {
    const { line, col } = lineCounter.linePos(offset);
    return `${name}:${line}:${col}`;
  };
  return documents.flatMap((document) => {
    const [error] = document.errors;
    if (error !== undefined)
      refuse(place(error.pos[0]), `${firstLine(error.message)}; correct the YAML there`);
    if (document.contents === null) return [];
    const where = place(document.contents.range?.[0] ?? document.range[0]);
    try {
      return [{ value: document.toJS({ maxAliasCount: 100 }) as unknown, where }];
    } catch {
      return refuse(where, 'its aliases unfold to too much; write it out');
    }
  });
}

const firstLine = (text: string): string => text.split('\n', 1)[0]?.replace(/\.$/, '') ?? '';

/** All resources of `DIR/*.yaml` (and `.yml`), in the order of the file names. */
export function readResources(files: FileReader, directory: string): readonly Resource[] {
  const names = files
    .list(directory)
    .filter((name) => /\.ya?ml$/.test(name) && !name.startsWith('.'))
    .sort();
  return parseResources(
    names.flatMap((name) => {
      const bytes = files.read(`${directory}/${name}`);
      return bytes === undefined ? [] : readYaml(Buffer.from(bytes).toString('utf8'), name);
    }),
  );
}
