import { closeSync, lstatSync, openSync, readdirSync, readlinkSync, readSync } from 'node:fs';
import { join } from 'node:path';

const BLOCK = 512;
const CHUNK = 1 << 20;

export type Sink = (bytes: Uint8Array) => void;

interface Header {
  readonly path: string;
  readonly type: 'file' | 'directory' | 'link';
  readonly mode: number;
  readonly size: number;
  readonly target?: string;
}

const TYPE_FLAG = { file: '0', link: '2', directory: '5' } as const;

/** A path longer than the name field is split at a slash into prefix and name (POSIX pax, "ustar Interchange Format"). */
const split = (path: string): { readonly name: string; readonly prefix: string } => {
  if (Buffer.byteLength(path) <= 100) return { name: path, prefix: '' };
  for (let slash = path.indexOf('/'); slash > 0; slash = path.indexOf('/', slash + 1)) {
    const prefix = path.slice(0, slash);
    const name = path.slice(slash + 1);
    if (name !== '' && Buffer.byteLength(name) <= 100 && Buffer.byteLength(prefix) <= 155)
      return { name, prefix };
  }
  throw new Error(`path does not fit into a tar header: ${path}`);
};

const header = ({ path, type, mode, size, target = '' }: Header): Uint8Array => {
  if (Buffer.byteLength(target) > 100)
    throw new Error(`link target does not fit into a tar header: ${target}`);
  const { name, prefix } = split(path);
  const block = Buffer.alloc(BLOCK);
  const octal = (value: number, at: number, length: number): void => {
    block.write(`${value.toString(8).padStart(length - 1, '0')}\0`, at, 'latin1');
  };
  block.write(name, 0);
  octal(mode, 100, 8);
  // Always owner root and time 0: same content, same bytes.
  octal(0, 108, 8);
  octal(0, 116, 8);
  octal(size, 124, 12);
  octal(0, 136, 12);
  block.fill(' ', 148, 156); // the checksum counts its own field as spaces
  block.write(TYPE_FLAG[type], 156, 'latin1');
  block.write(target, 157);
  block.write('ustar\x0000', 257, 'latin1');
  block.write(prefix, 345);
  octal(
    block.reduce((sum, byte) => sum + byte, 0),
    148,
    7,
  );
  return block;
};

const pad = (size: number): Uint8Array => new Uint8Array((BLOCK - (size % BLOCK)) % BLOCK);

/** Writes a tar archive piece by piece into a sink. Each directory once, however many entries are below it. */
export class TarWriter {
  readonly #sink: Sink;
  readonly #directories = new Set<string>();

  constructor(sink: Sink) {
    this.#sink = sink;
  }

  directory(path: string, mode = 0o755): void {
    if (path === '' || path === '.' || this.#directories.has(path)) return;
    this.#parents(path);
    this.#directories.add(path);
    this.#sink(header({ path: `${path}/`, type: 'directory', mode, size: 0 }));
  }

  bytes(path: string, content: Uint8Array, mode = 0o644): void {
    this.#parents(path);
    this.#sink(header({ path, type: 'file', mode, size: content.byteLength }));
    this.#sink(content);
    this.#sink(pad(content.byteLength));
  }

  link(path: string, target: string): void {
    this.#parents(path);
    this.#sink(header({ path, type: 'link', mode: 0o777, size: 0, target }));
  }

  /** A file, a link or a whole folder of this machine, in an order that does not depend on it. */
  add(path: string, from: string): void {
    const facts = lstatSync(from);
    if (facts.isSymbolicLink()) this.link(path, readlinkSync(from));
    else if (facts.isFile()) this.#file(path, from, facts.size, facts.mode & 0o777);
    else if (facts.isDirectory()) {
      this.directory(path, facts.mode & 0o777);
      for (const name of readdirSync(from).sort())
        this.add(path === '' ? name : `${path}/${name}`, join(from, name));
    }
  }

  end(): void {
    this.#sink(new Uint8Array(2 * BLOCK));
  }

  #parents(path: string): void {
    const slash = path.lastIndexOf('/');
    if (slash > 0) this.directory(path.slice(0, slash));
  }

  #file(path: string, from: string, size: number, mode: number): void {
    this.#parents(path);
    this.#sink(header({ path, type: 'file', mode, size }));
    const file = openSync(from, 'r');
    try {
      let left = size;
      while (left > 0) {
        const chunk = Buffer.allocUnsafe(Math.min(CHUNK, left));
        const read = readSync(file, chunk);
        if (read === 0) throw new Error(`${from} became shorter while it was read`);
        this.#sink(chunk.subarray(0, read));
        left -= read;
      }
    } finally {
      closeSync(file);
    }
    this.#sink(pad(size));
  }
}
