import { randomBytes } from 'node:crypto';
import { basename, dirname } from 'node:path';
import { HandoverError, type Instant, iso } from '@handover/material';
import { EngineError, isCode } from '../../error.ts';
import type { FileData } from '../../snapshot/home.ts';
import type { Files, Ownership } from './files.ts';

/** Beside the data, in the same swap; has no name at the top, so that programs which mount the folder do not see it. */
export const RECORD_FILE = '.handover.json';
const CURRENT = '..data';

/** Ours begin with the year, as the kubelet's do; or were cut short. */
const LEFTOVER = /^\.\.(\d{4}_.*|name_tmp|data_tmp)$/;

/** A folder in the kubelet's layout: `name → ..data/name`, `..data → ..<snapshot>`, swapped by one rename. */
export interface Volume {
  /** What the snapshot holds. */
  readonly data: FileData;
  /** Text of the record file; undefined: not ours. */
  readonly record: string | undefined;
  /** Of files in it that are too large or of no readable kind: what they are. Their bytes count as none. */
  readonly unread: Readonly<Record<string, string>>;
  /** Names at the top that lead into no snapshot: plain files of others. They are not opened. */
  readonly beside: readonly string[];
  /** Names at the top that lead into the snapshot: what programs can open. */
  readonly linked: readonly string[];
}

const readSnapshot = (
  files: Files,
  folder: string,
): { readonly data: Record<string, Uint8Array>; readonly unread: Record<string, string> } => {
  // Names are of others: a file may be called `constructor`.
  const data: Record<string, Uint8Array> = Object.create(null);
  const unread: Record<string, string> = Object.create(null);
  for (const name of files.list(folder)) {
    if (name.startsWith('..')) continue;
    const path = `${folder}/${name}`;
    const bytes = readSmall(files, path);
    if (bytes instanceof HandoverError) unread[name] = bytes.message.replace(path, name);
    if (bytes !== undefined) data[name] = bytes instanceof HandoverError ? new Uint8Array() : bytes;
  }
  return { data, unread };
};

/** What its owner made too large is worth as much as what they emptied: it is put right. */
const readSmall = (files: Files, path: string): Uint8Array | HandoverError | undefined => {
  try {
    return files.read(path);
  } catch (error) {
    if (isCode(error, 'HOME_MALFORMED')) return error;
    throw error;
  }
};

const namesIn = (files: Files, folder: string): Pick<Volume, 'beside' | 'linked'> => {
  const names = files.list(folder).filter((name) => !name.startsWith('..'));
  const linked = names.filter((name) => files.target(`${folder}/${name}`) === `${CURRENT}/${name}`);
  return { linked, beside: names.filter((name) => !linked.includes(name)) };
};

/** The name of the snapshot that shows; a link that leads out of the folder is none of ours. */
const currentIn = (files: Files, folder: string): string | undefined => {
  const snapshot = files.target(`${folder}/${CURRENT}`);
  if (snapshot === undefined || (snapshot.startsWith('..') && snapshot !== '..' && !snapshot.includes('/')))
    return snapshot;
  const path = `${folder}/${CURRENT}`;
  throw new EngineError('HOME_MALFORMED', `${path} leads to ${snapshot}; move it away`, { path });
};

/** What is there, from one snapshot; undefined when there is nothing. */
export function readVolume(files: Files, folder: string): Volume | undefined {
  for (let attempt = 0; attempt < 5; attempt++) {
    const snapshot = currentIn(files, folder);
    if (snapshot === undefined) break;
    const { data, unread } = readSnapshot(files, `${folder}/${snapshot}`);
    const names = namesIn(files, folder);
    // It was swapped under us: the names we read may be of two snapshots.
    if (currentIn(files, folder) !== snapshot) continue;
    const { [RECORD_FILE]: record, ...rest } = data;
    const text = record === undefined ? undefined : Buffer.from(record).toString('utf8');
    return { data: rest, record: text, unread, ...names };
  }
  const names = namesIn(files, folder);
  return names.beside.length === 0 ? undefined : { data: {}, record: undefined, unread: {}, ...names };
}

export interface NewContent {
  readonly data: FileData;
  readonly record: string;
}

export interface VolumeWrite {
  /** Every name that `content` may have. */
  readonly names: readonly string[];
  readonly content: () => NewContent;
  /** Snapshots are named after the time. */
  readonly now: () => Instant;
  /** Names of the snapshot before that stay as they are: bytes, owner and mode. */
  readonly keep: readonly string[];
  readonly ownershipOf: (name: string) => Ownership;
  readonly isStale: () => boolean;
  /** Before the content shows in the folder. */
  readonly beforeShown?: ((data: FileData) => Promise<void>) | undefined;
}

/**
 * Swaps in new content. Everything is durable before the one rename that makes it visible; the names at the top are made
 * before it, so that all of them come alive at once. Other names in the folder are not touched. Returns why a leftover stays, if one does.
 */
export async function writeVolume(
  files: Files,
  folder: string,
  write: VolumeWrite,
): Promise<HandoverError | undefined> {
  const { names, content, now, keep, ownershipOf, isStale, beforeShown } = write;
  await files.makeDirectory(folder, 0o755);
  await sweepVolume(files, folder); // what could not be removed when a write failed
  await convert(files, folder, names, now, ownershipOf);
  const before = currentIn(files, folder);
  const kept = before === undefined ? [] : keep.map((name) => [name, `${folder}/${before}/${name}`] as const);
  let snapshot: string;
  let made: NewContent;
  for (let attempt = 0; ; attempt++) {
    made = content();
    snapshot = await writeSnapshot(files, folder, now(), made, ownershipOf, kept);
    const { data } = made;
    await orRemoved(files, `${folder}/${snapshot}`, async () => beforeShown?.(data));
    // A disk that stalled would make the times in the record older than the moment they speak of.
    if (!isStale() || attempt === 3) break;
    await files.remove(`${folder}/${snapshot}`);
  }
  // What another program put in the place of a name of another object stays: that object waits for it.
  const { beside } = namesIn(files, folder);
  const shown = [...Object.keys(made.data), ...keep.filter((name) => !beside.includes(name))];
  await orRemoved(files, `${folder}/${snapshot}`, async () => {
    await linkNames(files, folder, shown);
    await point(files, folder, snapshot);
  });
  return tidy(files, folder, snapshot, shown, before);
}

const writeSnapshot = async (
  files: Files,
  folder: string,
  at: Instant,
  content: NewContent,
  ownershipOf: (name: string) => Ownership,
  kept: readonly (readonly [name: string, from: string])[] = [],
): Promise<string> => {
  const snapshot = `..${iso(at).replace(/[-:.TZ]/g, '_')}${randomBytes(4).toString('hex')}`;
  const path = `${folder}/${snapshot}`;
  await orRemoved(files, path, async () => {
    await files.makeDirectory(path, 0o755);
    for (const [name, bytes] of Object.entries(content.data))
      await files.create(`${path}/${name}`, bytes, ownershipOf(name));
    for (const [name, from] of kept) await files.link(from, `${path}/${name}`);
    await files.create(`${path}/${RECORD_FILE}`, content.record, { mode: 0o600 });
    await files.sync(path);
  });
  return snapshot;
};

/** A snapshot that never showed may hold a key: it goes when the work on it fails. What cannot be removed now is swept later. */
const orRemoved = async (files: Files, path: string, work: () => Promise<void>): Promise<void> => {
  try {
    await work();
  } catch (error) {
    if (files.target(`${dirname(path)}/${CURRENT}`) !== basename(path))
      await files.remove(path).catch(() => {});
    throw error;
  }
};

const linkNames = async (files: Files, folder: string, names: readonly string[]): Promise<void> => {
  for (const name of names) {
    if (files.target(`${folder}/${name}`) === `${CURRENT}/${name}`) continue;
    const temporary = `${folder}/..name_tmp`;
    await files.remove(temporary);
    await files.symlink(`${CURRENT}/${name}`, temporary);
    await files.rename(temporary, `${folder}/${name}`);
  }
};

const point = async (files: Files, folder: string, snapshot: string): Promise<void> => {
  const temporary = `${folder}/..data_tmp`;
  await files.remove(temporary);
  await files.symlink(snapshot, temporary);
  await files.rename(temporary, `${folder}/${CURRENT}`);
  await files.sync(folder);
};

/** Removes names that are no longer wanted; returns why one of them stays, if another user planted it. */
const removeNames = async (
  files: Files,
  folder: string,
  isUnwanted: (name: string) => boolean,
): Promise<HandoverError | undefined> => {
  let stays: HandoverError | undefined;
  for (const name of files.list(folder).filter(isUnwanted)) {
    try {
      await files.remove(`${folder}/${name}`);
    } catch (error) {
      if (!isCode(error, 'HOME_FOREIGN_OWNER')) throw error;
      stays ??= error;
    }
  }
  return stays;
};

const tidy = async (
  files: Files,
  folder: string,
  snapshot: string,
  names: readonly string[],
  before: string | undefined,
): Promise<HandoverError | undefined> => {
  const stays = await removeNames(files, folder, (name) => {
    const isOld = LEFTOVER.test(name) && name !== snapshot;
    return isOld || (files.target(`${folder}/${name}`) === `${CURRENT}/${name}` && !names.includes(name));
  });
  if (before !== undefined && before !== snapshot) await files.sync(folder);
  return stays;
};

/**
 * A folder of plain files, made by another program: what will be replaced is put behind links first, so that at no moment
 * a certificate and a key of two writes stand side by side.
 */
const convert = async (
  files: Files,
  folder: string,
  wanted: readonly string[],
  now: () => Instant,
  ownershipOf: (name: string) => Ownership,
): Promise<void> => {
  const plain = namesIn(files, folder).beside.filter((name) => wanted.includes(name));
  const current = currentIn(files, folder);
  if (current !== undefined) {
    // A conversion that was cut short: the names that are still files go behind the links they were copied to.
    const copied = files.list(`${folder}/${current}`);
    return linkNames(
      files,
      folder,
      plain.filter((name) => copied.includes(name)),
    );
  }
  const data: Record<string, Uint8Array> = Object.create(null);
  for (const name of plain) {
    const path = `${folder}/${name}`;
    const bytes = files.facts(path)?.kind === 'file' ? files.read(path) : undefined;
    if (bytes === undefined)
      throw new EngineError('HOME_MALFORMED', `${path} is not a plain file; move it away`, { path });
    data[name] = bytes;
  }
  if (plain.length === 0) return;
  const snapshot = await writeSnapshot(files, folder, now(), { data, record: '' }, ownershipOf);
  await point(files, folder, snapshot);
  await linkNames(files, folder, plain);
};

/** Leftovers of writes that were cut short: they may hold keys. Returns why one stays, if another user planted it. */
export async function sweepVolume(files: Files, folder: string): Promise<HandoverError | undefined> {
  const current = currentIn(files, folder);
  return removeNames(files, folder, (name) => LEFTOVER.test(name) && name !== current);
}
