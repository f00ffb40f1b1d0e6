import { randomBytes } from 'node:crypto';
import { HandoverError } from '@handover/material';
import { digestOf } from '../stored-object.ts';
import type { Files, Ownership } from './files.ts';

/** Beside the data, in the same swap; has no name at the top, so that nobody who mounts the folder sees it. */
const RECORD = '.handover.json';
const CURRENT = '..data';

/** A folder in the kubelet's layout: `name → ..data/name`, `..data → ..<stamp>`, swapped by one rename. */
export interface Volume {
  /** Names the snapshot; changes with every write. */
  readonly stamp: string;
  readonly data: Readonly<Record<string, string>>;
  /** Text of the record file; undefined: not ours. */
  readonly record: string | undefined;
}

const utf8 = (bytes: Uint8Array): string => Buffer.from(bytes).toString('utf8');

const readSnapshot = (
  files: Files,
  folder: string,
): { names: readonly string[]; data: Record<string, string> } => {
  const data: Record<string, string> = {};
  const names = files.list(folder);
  for (const name of names) {
    if (name.startsWith('..')) continue;
    const bytes = files.read(`${folder}/${name}`);
    if (bytes !== undefined) data[name] = utf8(bytes);
  }
  return { names, data };
};

/** What is there, from one snapshot; undefined when there is nothing. */
export function readVolume(files: Files, folder: string): Volume | undefined {
  for (let attempt = 0; attempt < 5; attempt++) {
    const stamp = files.target(`${folder}/${CURRENT}`);
    if (stamp === undefined) break;
    const { data } = readSnapshot(files, `${folder}/${stamp}`);
    // Somebody swapped it under us: the names we read may be of two snapshots.
    if (files.target(`${folder}/${CURRENT}`) !== stamp) continue;
    const { [RECORD]: record, ...rest } = data;
    return { stamp, data: rest, record };
  }
  const { names, data } = readSnapshot(files, folder);
  if (names.length === 0 || Object.keys(data).length === 0) return undefined;
  return { stamp: `plain-${digestOf(data).slice(0, 16)}`, data, record: undefined };
}

export interface NewContent {
  readonly data: Readonly<Record<string, string | Uint8Array>>;
  readonly record: string;
}

/**
 * Swaps in new content. Everything is durable before the one rename that makes it visible; the names at the top are made
 * before it, so that all of them come alive at once.
 */
export async function writeVolume(
  files: Files,
  folder: string,
  content: () => NewContent,
  ownershipOf: (name: string) => Ownership,
  isStale: () => boolean,
): Promise<void> {
  await files.makeDirectory(folder, 0o755);
  await convert(files, folder, ownershipOf);
  const before = files.target(`${folder}/${CURRENT}`);
  let stamp: string;
  let made: NewContent;
  for (let attempt = 0; ; attempt++) {
    made = content();
    stamp = await writeSnapshot(files, folder, made, ownershipOf);
    // A disk that stalled would make the times in the record older than the moment they speak of.
    if (!isStale() || attempt === 3) break;
    await files.remove(`${folder}/${stamp}`);
  }
  await linkNames(files, folder, Object.keys(made.data));
  await point(files, folder, stamp);
  await tidy(files, folder, stamp, made.data, before);
}

const writeSnapshot = async (
  files: Files,
  folder: string,
  content: NewContent,
  ownershipOf: (name: string) => Ownership,
): Promise<string> => {
  const stamp = `..${new Date().toISOString().replace(/[-:.TZ]/g, '_')}${randomBytes(4).toString('hex')}`;
  const snapshot = `${folder}/${stamp}`;
  await files.makeDirectory(snapshot, 0o755);
  for (const [name, text] of Object.entries(content.data)) {
    await files.create(`${snapshot}/${name}`, text, ownershipOf(name));
  }
  await files.create(`${snapshot}/${RECORD}`, content.record, { mode: 0o600 });
  await files.sync(snapshot);
  return stamp;
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

const point = async (files: Files, folder: string, stamp: string): Promise<void> => {
  const temporary = `${folder}/..data_tmp`;
  await files.remove(temporary);
  await files.symlink(stamp, temporary);
  await files.rename(temporary, `${folder}/${CURRENT}`);
  await files.sync(folder);
};

const tidy = async (
  files: Files,
  folder: string,
  stamp: string,
  data: Readonly<Record<string, unknown>>,
  before: string | undefined,
): Promise<void> => {
  for (const name of files.list(folder)) {
    const isOld = name.startsWith('..') && name !== CURRENT && name !== stamp;
    const isDangling = files.target(`${folder}/${name}`) === `${CURRENT}/${name}` && !(name in data);
    if (isOld || isDangling) await files.remove(`${folder}/${name}`);
  }
  if (before !== undefined && before !== stamp) await files.sync(folder);
};

/**
 * A folder of plain files, made by somebody else: the same content is put behind links first, so that at no moment
 * a certificate and a key of two writes stand side by side.
 */
const convert = async (
  files: Files,
  folder: string,
  ownershipOf: (name: string) => Ownership,
): Promise<void> => {
  if (files.target(`${folder}/${CURRENT}`) !== undefined) {
    // A conversion that was cut short: the names that are still files go behind the links they were copied to.
    const { names } = readSnapshot(files, folder);
    const plain = names.filter(
      (name) => !name.startsWith('..') && files.facts(`${folder}/${name}`)?.kind === 'file',
    );
    await linkNames(files, folder, plain);
    return;
  }
  const { data } = readSnapshot(files, folder);
  if (Object.keys(data).length === 0) return;
  const oddity = Object.keys(data).find((name) => files.facts(`${folder}/${name}`)?.kind !== 'file');
  if (oddity !== undefined && !files.target(`${folder}/${oddity}`)?.startsWith(`${CURRENT}/`)) {
    throw new HandoverError('HOME_MALFORMED', `${folder}/${oddity} is not a plain file; move it away`, {
      path: `${folder}/${oddity}`,
    });
  }
  const snapshot = await writeSnapshot(files, folder, { data, record: '' }, ownershipOf);
  await point(files, folder, snapshot);
  await linkNames(files, folder, Object.keys(data));
};

/** Leftovers of writes that were cut short: they may hold keys. */
export async function sweepVolume(files: Files, folder: string): Promise<void> {
  const current = files.target(`${folder}/${CURRENT}`);
  for (const name of files.list(folder)) {
    if (name.startsWith('..') && name !== CURRENT && name !== current)
      await files.remove(`${folder}/${name}`);
  }
}
