import { randomInt } from 'node:crypto';
import { Contended } from '@handover/core';
import { HandoverError, type Instant, instant, minute, sameBytes, second } from '@handover/material';
import { obstacleError } from '../../act/exact-files.ts';
import { EngineError, isCode } from '../../error.ts';
import { Contention } from '../../scheduling/contention.ts';
import type {
  AuthorityId,
  Contents,
  FileData,
  ObjectId,
  ObjectWriter,
  StoredObject,
} from '../../snapshot/home.ts';
import { claimOf, sealIn } from '../../snapshot/seal.ts';
import type { ObjectReader, RecordedObject } from '../../snapshot/snapshot.ts';
import { digestOf } from '../../snapshot/stored-object.ts';
import type { FileReader } from '../disk/files.ts';
import { refuseClosed, refuseOpened } from '../disk/permissions.ts';
import type { OwnUser } from '../disk/trusted-path.ts';
import { RECORD_FILE, readVolume, sweepVolume, type Volume, writeVolume } from '../disk/volume.ts';
import { type Copy, checkCopy, isCopied, writeCopies } from './copies.ts';
import { directoryEntries, type Entry, formatEntries } from './entries.ts';
import { foreignObstacle } from './foreign-files.ts';
import {
  describe,
  filesOf,
  foldersIn,
  isChanged,
  NOTHING,
  namesOf,
  objectParts,
  only,
  ownershipIn,
  recordsIn,
} from './object-files.ts';
import type { ObjectOptions } from './object-options.ts';
import { openedFile, openedIn } from './opened-files.ts';

/** What stands in the place of an object that nothing here has a record of. */
const foreignObject = (
  { files, root, mayAdopt, outputsOf }: ObjectOptions,
  volume: Volume,
  id: ObjectId,
): StoredObject | undefined => {
  const { folder, key } = objectParts(id);
  const path = `${root}/${folder}`;
  const wanted = [...namesOf(key), ...outputsOf(id)];
  // A folder with a record is ours: what else is in it belongs to other objects, or stays beside them.
  const isOurs = Object.keys(directoryEntries(volume.record)).length > 0;
  const found = [...Object.keys(volume.data), ...volume.beside];
  const names = isOurs ? found.filter((name) => wanted.includes(name)) : found;
  if (names.length === 0) return undefined;
  const plain = wanted.filter((name) => volume.beside.includes(name) && !(name in volume.data));
  const data = {
    ...only(volume.data, wanted),
    ...Object.fromEntries(plain.map((name) => [name, files.read(`${path}/${name}`) ?? new Uint8Array()])),
  };
  const obstacle = mayAdopt(id) ? undefined : foreignObstacle({ path, names, wanted });
  if (obstacle === undefined && Object.keys(data).length === 0) return undefined;
  return {
    data,
    record: undefined,
    version: `plain-${digestOf(data).slice(0, 16)}`,
    ...(obstacle === undefined ? {} : { obstacle }),
  };
};

const atItsPath = (
  files: FileReader,
  { path, name, ownership, holdsKey }: Copy,
  data: FileData,
  uid: OwnUser,
): string | undefined => {
  const facts = files.facts(path);
  if (facts === undefined) return `${path} is missing`;
  if (facts.kind === 'file' && sameBytes(files.read(path), data[name]))
    return openedFile(files, path, { uid, ...ownership, holdsKey }, path);
  return `${path} is not as handover wrote it`;
};

/** What is wrong with the files in other formats that were written for an object. One that is yet to be written is not damaged. */
const outputDamage = (
  files: FileReader,
  entry: Entry,
  data: FileData,
  copies: readonly Copy[],
  uid: OwnUser,
): readonly string[] => {
  const outputs = entry.record.outputs?.files ?? [];
  if (outputs.length === 0) return [];
  const missing = outputs.filter((name) => !(name in data)).map((name) => `${name} is missing`);
  const isDamaged = missing.length === 0 && isChanged(entry, data);
  return [
    ...missing,
    ...(isDamaged ? [`one of ${Object.keys(data).sort().join(', ')} is not as handover wrote it`] : []),
    ...copies
      .filter(({ path, name }) => name in data && entry.copies?.includes(path))
      .flatMap((copy) => atItsPath(files, copy, data, uid) ?? []),
  ];
};

const FIRST_MS = 15 * second;
const LONGEST_MS = 5 * minute;

interface Held {
  readonly why: string;
  readonly failures: number;
  readonly until: number;
}

/**
 * Objects that could not be written, and are left alone for a while: each attempt would issue one more certificate. The second
 * failure in a row holds an object back, and each one after it for twice as long. Counted by a clock that cannot be set.
 */
class HoldBack {
  readonly #monotonic: () => number;
  readonly #held = new Map<ObjectId, Held>();

  constructor(monotonic: () => number) {
    this.#monotonic = monotonic;
  }

  failed(id: ObjectId, why: string): void {
    const failures = (this.#held.get(id)?.failures ?? 0) + 1;
    const wait = failures === 1 ? 0 : Math.min(FIRST_MS * 2 ** Math.min(failures - 2, 30), LONGEST_MS);
    this.#held.set(id, { why, failures, until: this.#monotonic() + wait });
  }

  written(id: ObjectId): void {
    this.#held.delete(id);
  }

  /** Something changed that may help: all are tried again. */
  clear(): void {
    this.#held.clear();
  }

  /** Why it is left alone now; undefined: it is not. */
  reason(id: ObjectId): string | undefined {
    const held = this.#held.get(id);
    return held === undefined || this.#monotonic() >= held.until ? undefined : held.why;
  }
}

/** Longer than this between taking the time and showing the files, and the time is taken again. */
const STALE_MS = 1_000;

const CONTENDED = new Contended('another program');

/** The derived objects of a directory home. */
export class DirectoryObjects implements ObjectReader, ObjectWriter {
  readonly #options: ObjectOptions;
  readonly #busy = new Map<string, Promise<void>>();
  readonly #held: HoldBack;
  #contention = new Contention();
  /** By folder: what lies in it that is not removed, because another user put it there. */
  readonly #planted = new Map<string, HandoverError>();

  constructor(options: ObjectOptions) {
    this.#options = options;
    this.#held = new HoldBack(options.monotonic);
  }

  async read(id: ObjectId): Promise<StoredObject | undefined> {
    const { folder } = objectParts(id);
    const read = this.#guarded(() => {
      const volume = this.#volumeIn(folder);
      return { volume, found: volume === undefined ? undefined : this.#objectIn(volume, id) };
    });
    // An object that cannot be read blocks no other.
    if (read instanceof HandoverError) return { ...NOTHING, obstacle: read.message };
    const { volume, found } = read;
    const obstacle = found?.obstacle ?? this.#unwritable(id, volume);
    return obstacle === undefined ? found : { ...(found ?? NOTHING), obstacle };
  }

  #volumeIn(folder: string): Volume | undefined {
    const { files, root, uid } = this.#options;
    refuseOpened(files, root, folder, uid);
    return readVolume(files, `${root}/${folder}`);
  }

  #guarded<T>(read: () => T): T | HandoverError {
    try {
      return read();
    } catch (error) {
      if (error instanceof HandoverError) return error;
      throw error;
    }
  }

  /** Why it could not be written, whatever is there. */
  #unwritable(id: ObjectId, volume: Volume | undefined): string | undefined {
    if (objectParts(id).key === RECORD_FILE)
      return `the name ${RECORD_FILE} is taken by what handover remembers; choose another`;
    const checked = this.#guarded(() => {
      this.#options.ownershipOf(id);
      refuseClosed(this.#options, objectParts(id).folder);
      this.#checkOutputs(id, volume);
    });
    return checked instanceof HandoverError ? checked.message : this.#held.reason(id);
  }

  /** Refuses to replace a file that lies where another format of the object should be, and that another program wrote. */
  #checkOutputs(id: ObjectId, volume: Volume | undefined): void {
    const { files, root, uid, mayAdopt, outputsOf, copiesOf, notes } = this.#options;
    const { folder, key } = objectParts(id);
    const entries = directoryEntries(volume?.record);
    const adopts = mayAdopt(id);
    for (const copy of copiesOf(id)) checkCopy(files, copy, uid, entries[key]?.copies ?? [], adopts, notes);
    const ours = new Set(Object.keys(entries).flatMap((other) => filesOf(other, entries)));
    const there = [...Object.keys(volume?.data ?? {}), ...(volume?.beside ?? [])];
    const mine = entries[key] === undefined ? [] : filesOf(key, entries);
    const isStray = (name: string): boolean =>
      (outputsOf(id).includes(name) && !ours.has(name)) ||
      (mine.includes(name) && volume?.beside.includes(name) === true);
    const stray = adopts ? undefined : there.find(isStray);
    if (stray !== undefined)
      throw new EngineError(
        'OUTPUT_REFUSED',
        foreignObstacle({ path: `${root}/${folder}`, names: [stray], wanted: [stray] }),
        { path: id, retry: 'later' },
      );
  }

  #elapsed(): Instant {
    return instant(this.#options.monotonic());
  }

  /** Objects that were left alone are tried again at once. */
  tryAgain(): void {
    this.#held.clear();
    this.#contention = new Contention();
  }

  #objectIn(volume: Volume, id: ObjectId): StoredObject | undefined {
    const { key } = objectParts(id);
    const entries = directoryEntries(volume.record);
    const entry = entries[key];
    if (entry === undefined) {
      this.#refuseChanged(volume, id);
      return foreignObject(this.#options, volume, id);
    }
    // A file that has no name where programs open it is as good as missing.
    const data = only(
      volume.data,
      filesOf(key, entries).filter((name) => volume.linked.includes(name)),
    );
    if (key !== '' && Object.keys(data).length === 0) return undefined;
    const ownership = this.#guarded(() => this.#options.ownershipOf(id));
    const copied = this.#isCopied(id, data);
    const opened = openedIn(this.#options, id, Object.keys(data));
    const asWanted =
      copied &&
      opened.length === 0 &&
      (ownership instanceof HandoverError || entry.ownership === describe(ownership));
    // A program that leaves our last write alone does not fight.
    const isFought = isChanged(entry, data) || !copied || opened.length > 0;
    const fight = isFought ? this.#contention.standoff(id, this.#elapsed()) : undefined;
    const outputs = this.#guarded(() =>
      outputDamage(this.#options.files, entry, data, this.#options.copiesOf(id), this.#options.uid),
    );
    const damage = [...opened, ...(outputs instanceof HandoverError ? [] : outputs)];
    // Files of another owner than is asked for have to be written again.
    return {
      data,
      version: entry.version,
      record: asWanted ? entry.record : { ...entry.record, digest: '' },
      ...claimOf(entry.record, sealIn(entry.seal)),
      ...(damage.length === 0 ? {} : { damage }),
      ...(Object.keys(volume.unread).length === 0 ? {} : { unread: volume.unread }),
      ...(fight === undefined ? {} : { obstacle: CONTENDED }),
    };
  }

  /** Whether every file that lies at a path of its own is there as it is here. */
  #isCopied(id: ObjectId, data: FileData): boolean {
    const { files, copiesOf, uid } = this.#options;
    const copies = this.#guarded(() =>
      copiesOf(id).every((copy) => !(copy.name in data) || isCopied(files, copy, data, uid)),
    );
    // Why one cannot be judged is said as the obstacle that it is.
    return copies instanceof HandoverError || copies;
  }

  /** Files of a Leaf may belong to its program, which must not have a say in what others trust: as they were written, or not at all. */
  #refuseChanged(volume: Volume, id: ObjectId): void {
    const entries = directoryEntries(volume.record);
    const whole = entries[''];
    if (whole === undefined || !isChanged(whole, only(volume.data, filesOf('', entries)))) return;
    throw new EngineError('HOME_MALFORMED', 'the files beside it were changed; they are put right first', {
      path: id,
      retry: 'later',
    });
  }

  async issuedBy(authority: AuthorityId, known: ReadonlySet<ObjectId>): Promise<readonly ObjectId[]> {
    const { files, root } = this.#options;
    return foldersIn(files, root, ['secrets']).filter(
      (folder) => !known.has(folder) && recordsIn(files, root, folder)['']?.record.issuedBy === authority,
    );
  }

  async recorded(): Promise<readonly RecordedObject[]> {
    const { files, root } = this.#options;
    return foldersIn(files, root).flatMap((folder) => {
      const entries = this.#guarded(() => recordsIn(files, root, folder));
      if (entries instanceof HandoverError) return [];
      return Object.entries(entries).map(([key, { record, seal }]) => ({
        id: key === '' ? folder : `${folder}/${key}`,
        record,
        ...claimOf(record, sealIn(seal)),
      }));
    });
  }

  async write(id: ObjectId, expect: string | undefined, make: (at: Instant) => Contents): Promise<void> {
    const { folder } = objectParts(id);
    const before = this.#busy.get(folder) ?? Promise.resolve();
    const mine = before.catch(() => {}).then(() => this.#swap(id, expect, make));
    this.#busy.set(folder, mine);
    try {
      await mine;
      this.#held.written(id);
    } catch (error) {
      if (error instanceof HandoverError && error.retry !== 'now' && !isCode(error, 'HOME_LOCK_LOST'))
        this.#held.failed(id, error.message);
      throw error;
    } finally {
      if (this.#busy.get(folder) === mine) this.#busy.delete(folder);
    }
  }

  async #swap(id: ObjectId, expect: string | undefined, make: (at: Instant) => Contents): Promise<void> {
    const { files, root, now, uid, ownershipOf, copiesOf, notes } = this.#options;
    const { folder, key } = objectParts(id);
    const volume = this.#volumeIn(folder);
    const found = volume === undefined ? undefined : this.#objectIn(volume, id);
    if (found?.obstacle !== undefined) throw obstacleError(id, found.obstacle);
    if (found?.version !== expect) {
      throw new EngineError('CONFLICT', `${id} changed meanwhile; looking again`, {
        retry: 'now',
        path: id,
      });
    }
    this.#checkOutputs(id, volume);
    const ownership = ownershipOf(id);
    const copies = copiesOf(id);
    const entries = directoryEntries(volume?.record);
    // Files that were deleted and made again must not look like those that a program was told of.
    const version = String(Number(/^\d+$/.exec(entries[key]?.version ?? '')?.[0] ?? randomInt(2 ** 47)) + 1);
    let at = now();
    const names = [...new Set([...filesOf(key, entries), ...Object.keys(make(at).data)])];
    const written = copies.length === 0 ? {} : { copies: copies.map(({ path }) => path) };
    const fought =
      found !== undefined &&
      (!this.#isCopied(id, found.data) || openedIn(this.#options, id, Object.keys(found.data)).length > 0);
    const stays = await writeVolume(files, `${root}/${folder}`, {
      names,
      now,
      content: () => {
        at = now();
        const { data, record, seal } = make(at);
        const objects = {
          ...(key === '' ? {} : entries),
          [key]: { version, ownership: describe(ownership), record, seal, ...written },
        };
        return { data, record: formatEntries(objects) };
      },
      keep: Object.keys(volume?.data ?? {}).filter((name) => !names.includes(name)),
      ownershipOf: (name) => ownershipIn(key, name, ownership),
      beforeShown: (data) => writeCopies(files, copies, data, uid, notes),
      isStale: () => now() - at > STALE_MS,
    });
    this.#note(folder, stays);
    const entry = entries[key];
    if (entry !== undefined && found !== undefined && (fought || isChanged(entry, found.data)))
      this.#contention.repaired(id, 'another program', this.#elapsed());
  }

  #note(folder: string, stays: HandoverError | undefined): void {
    if (stays === undefined) this.#planted.delete(folder);
    else this.#planted.set(folder, stays);
  }

  /** What other users planted in the folders of these objects, and how to be rid of it. Nothing waits for that. */
  planted(ids: Iterable<ObjectId>): readonly HandoverError[] {
    const folders = new Set([...ids].map((id) => objectParts(id).folder));
    return [...this.#planted].flatMap(([folder, error]) => (folders.has(folder) ? [error] : []));
  }

  /** Nothing is being written any more. Writes go on side by side: when one has failed, others may still be under way. */
  async idle(): Promise<void> {
    do {
      await Promise.allSettled(this.#busy.values());
      await new Promise((next) => setImmediate(next)); // what waited for one of them may begin another
    } while (this.#busy.size > 0);
  }

  /** Removes what writes that were cut short left behind. */
  async sweep(): Promise<void> {
    const { files, root } = this.#options;
    for (const folder of foldersIn(files, root))
      this.#note(folder, await sweepVolume(files, `${root}/${folder}`));
  }
}
