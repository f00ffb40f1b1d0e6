import { type Instant, isMap } from '@handover/material';
import { definitionOf, type Hook, type HookReader, type HookRecord } from '../../snapshot/hooks.ts';
import { isDate } from '../../snapshot/object-record.ts';
import { type Files, replaceFile } from '../disk/files.ts';

/** Names have no `_`, so that no two hooks share a file. */
const fileOf = (name: string): string => `${name.replaceAll(/[ /]/g, '_')}.json`;

const isRecord = (value: unknown): value is HookRecord => {
  const { hook, told, wanted, restarted, last } = (value ?? {}) as Partial<Record<keyof HookRecord, unknown>>;
  const isMapOrNone = (part: unknown): boolean => part === undefined || isMap(part);
  const isDated = (part: unknown): boolean =>
    part === undefined || isDate((part as { at?: unknown } | null)?.at);
  return (
    typeof hook === 'string' &&
    [told, wanted, restarted, last].every(isMapOrNone) &&
    isDated(restarted) &&
    isDated(last) &&
    Object.values((told ?? {}) as object).every(
      (one) => Array.isArray(one?.anchors) && isMapOrNone(one?.parts),
    )
  );
};

/** What each hook told and how it ended, one file each, which other processes read. */
export class HookRecords implements HookReader {
  readonly #files: Files;
  readonly #root: string;
  readonly #busy = new Map<string, Promise<void>>();

  constructor(files: Files, root: string) {
    this.#files = files;
    this.#root = root;
  }

  /** The record of an edited hook is void: the hook runs again. */
  read(hook: Hook): HookRecord | undefined {
    const bytes = this.#files.read(`${this.#root}/${fileOf(hook.name)}`);
    if (bytes === undefined) return undefined;
    try {
      const value: unknown = JSON.parse(Buffer.from(bytes).toString('utf8'));
      return isRecord(value) && value.hook === definitionOf(hook) ? value : undefined;
    } catch {
      return undefined; // it runs again
    }
  }

  /** One change after another, each on what is there; nothing is written where nothing changed. */
  async update(hook: Hook, change: (before: HookRecord) => HookRecord): Promise<void> {
    const before = this.#busy.get(hook.name) ?? Promise.resolve();
    const mine = before.catch(() => {}).then(() => this.#change(hook, change));
    this.#busy.set(hook.name, mine);
    try {
      await mine;
    } finally {
      if (this.#busy.get(hook.name) === mine) this.#busy.delete(hook.name);
    }
  }

  async #change(hook: Hook, change: (before: HookRecord) => HookRecord): Promise<void> {
    const found = this.read(hook);
    const next = change(found ?? { hook: definitionOf(hook) });
    const text = `${JSON.stringify(next)}\n`;
    if (found !== undefined && text === `${JSON.stringify(found)}\n`) return;
    await this.#files.makeDirectory(this.#root, 0o700);
    await replaceFile(this.#files, this.#root, fileOf(hook.name), text, 0o600);
  }

  /** Forgets hooks that no resource declares any more. */
  async keepOnly(hooks: readonly Hook[]): Promise<void> {
    const known = new Set(hooks.map(({ name }) => fileOf(name)));
    for (const name of this.#files.list(this.#root))
      if (name.endsWith('.json') && !known.has(name)) await this.#files.remove(`${this.#root}/${name}`);
  }
}

/** A date after now is from before the clock was set back. */
export const isPast = (at: Instant | undefined, now: Instant, most: number): boolean =>
  at === undefined || at <= now || at > now + most;
