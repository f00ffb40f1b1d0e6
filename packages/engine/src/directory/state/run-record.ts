import { type Clock, HandoverError, type Instant, instant, isMap, minute } from '@handover/material';
import type { RunProblem } from '../../snapshot/run-report.ts';
import type { Files } from '../disk/files.ts';

const NAME = 'run.json';
/** Written in place, always as long: a disk that is full has room for it, and takes no more. */
const BYTES = 16 * 1024;
const MOST_PROBLEMS = 20;
const MOST_LENGTH = 500;
const SAVE_EVERY_MS = minute;

const cut = (text: string): string =>
  text.length <= MOST_LENGTH ? text : `${text.slice(0, MOST_LENGTH - 1)}\u2026`;

const problemIn = (value: unknown): RunProblem | undefined => {
  if (!isMap(value)) return undefined;
  const { what, code, message, since, at } = value;
  if (![what, code, message].every((text) => typeof text === 'string')) return undefined;
  if (typeof since !== 'number' || typeof at !== 'number') return undefined;
  return {
    what: cut(String(what)),
    code: cut(String(code)),
    message: cut(String(message)),
    since: instant(since),
    at: instant(at),
  };
};

/** What was recorded; undefined: nothing that can be read. */
export const readRunRecord = (
  files: Files,
  directory: string,
): { readonly at: Instant; readonly problems: readonly RunProblem[] } | undefined => {
  const bytes = files.read(`${directory}/${NAME}`);
  if (bytes === undefined) return undefined;
  try {
    const value: unknown = JSON.parse(Buffer.from(bytes).toString('utf8'));
    if (!isMap(value) || typeof value.at !== 'number') return undefined;
    const problems = Array.isArray(value.problems) ? value.problems : [];
    return { at: instant(value.at), problems: problems.flatMap((one) => problemIn(one) ?? []) };
  } catch (error) {
    if (error instanceof SyntaxError) return undefined; // it is being written
    throw error;
  }
};

/** Records that a process works here, and what fails, for the commands beside it. */
export class RunRecord {
  readonly #files: Files;
  readonly #directory: string;
  readonly #now: () => Instant;
  readonly #clock: Clock;
  readonly #problems = new Map<string, readonly RunProblem[]>();
  #savedAt = Number.NEGATIVE_INFINITY;
  #saving: Promise<void> = Promise.resolve();

  constructor(files: Files, directory: string, now: () => Instant, clock: Clock) {
    this.#files = files;
    this.#directory = directory;
    this.#now = now;
    this.#clock = clock;
  }

  /** One piece of work ended, with these errors; none: it succeeded. */
  async ended(work: string, errors: readonly unknown[]): Promise<void> {
    const before = this.#problems.get(work) ?? [];
    const at = this.#now();
    const problems = errors.map((error): RunProblem => {
      const { code, path, message } =
        error instanceof HandoverError
          ? error
          : { code: 'INTERNAL', path: undefined, message: String((error as Error)?.message ?? error) };
      const known = before.find((one) => one.code === code && one.message === cut(message));
      return { what: cut(path ?? work), code, message: cut(message), since: known?.since ?? at, at };
    });
    if (problems.length === 0) this.#problems.delete(work);
    else this.#problems.set(work, problems);
    const texts = (all: readonly RunProblem[]): string => JSON.stringify(all.map(({ message }) => message));
    const isNews = texts(before) !== texts(problems);
    if (isNews || this.#clock.monotonic() - this.#savedAt >= SAVE_EVERY_MS) await this.save();
  }

  /** Work that is no longer asked for. */
  keepOnly(work: ReadonlySet<string>): void {
    for (const one of this.#problems.keys()) if (!work.has(one)) this.#problems.delete(one);
  }

  save(): Promise<void> {
    const mine = this.#saving.then(() => this.#save());
    this.#saving = mine;
    return mine;
  }

  async #save(): Promise<void> {
    this.#savedAt = this.#clock.monotonic();
    let problems = [...this.#problems.values()].flat().slice(0, MOST_PROBLEMS);
    const textOf = (): string => JSON.stringify({ version: 1, at: this.#now(), problems });
    while (Buffer.byteLength(textOf()) > BYTES - 1) problems = problems.slice(0, -1);
    const text = textOf();
    const padded = `${text}${' '.repeat(BYTES - 1 - Buffer.byteLength(text))}\n`;
    try {
      await this.#files.overwrite(`${this.#directory}/${NAME}`, padded, 0o600);
    } catch (error) {
      if (!(error instanceof HandoverError)) throw error; // nothing rests on it, and the next save tries again
    }
  }
}
