import type { ConsumerSeen, InstanceSeen } from '@handover/core';
import { HandoverError, isMap } from '@handover/material';
import { instanceKey, type RememberedInstances } from '../../evidence/remembered.ts';
import type { AuthorityId } from '../../snapshot/home.ts';
import { type Files, replaceFile } from '../disk/files.ts';

/** A consumer that does not fit is left out. */
const MOST_BYTES = 1_000_000;

/** Ignore timestamp-only changes: times of proofs move with every observation. */
const newsIn = (text: string): string => text.replaceAll(/"at":\d+/g, '');

/**
 * What the process that works here saw of the consumers that an Authority declares, for the commands beside it: since when they serve what they
 * serve, and which CAs they trust, which only a process that may issue canaries can ask. No step rests on it, and no key is in it.
 */
export class SeenConsumers implements RememberedInstances {
  readonly #files: Files;
  readonly #root: string;
  readonly #written = new Map<AuthorityId, string>();

  constructor(files: Files, root: string) {
    this.#files = files;
    this.#root = root;
  }

  #place(id: AuthorityId): { readonly directory: string; readonly name: string } {
    const [namespace, name] = id.split('/');
    return { directory: `${this.#root}/${namespace}`, name: `${name}.json` };
  }

  of(id: AuthorityId): ReadonlyMap<string, InstanceSeen> {
    const { directory, name } = this.#place(id);
    const bytes = this.#files.read(`${directory}/${name}`);
    if (bytes === undefined) return new Map();
    try {
      const value: unknown = JSON.parse(Buffer.from(bytes).toString('utf8'));
      const instances = isMap(value) && value.version === 1 ? value.instances : undefined;
      // In a folder that only the owner can write to; a file that is cut short is no JSON.
      return new Map(Array.isArray(instances) ? (instances as [string, InstanceSeen][]) : []);
    } catch (error) {
      if (error instanceof SyntaxError) return new Map();
      throw error;
    }
  }

  async save(id: AuthorityId, consumers: readonly ConsumerSeen[]): Promise<void> {
    let room = MOST_BYTES;
    const instances = consumers.flatMap(({ id: consumer, instances: all }) =>
      all.flatMap((instance) => {
        const { uid, served, proofs, unread } = instance;
        if (served === undefined) return [];
        const entry = [instanceKey(consumer, uid), { uid, served, proofs, unread }] as const;
        room -= JSON.stringify(entry).length;
        return room < 0 ? [] : [entry];
      }),
    );
    const text = JSON.stringify({ version: 1, instances });
    const { directory, name } = this.#place(id);
    if (instances.length === 0 && !this.#written.has(id)) return;
    if (this.#written.get(id) === newsIn(text)) return;
    try {
      await this.#files.makeDirectory(directory, 0o700);
      await replaceFile(this.#files, directory, name, text, 0o600);
      this.#written.set(id, newsIn(text));
    } catch (error) {
      if (!(error instanceof HandoverError)) throw error; // nothing rests on it, and the next pass tries again
    }
  }
}
