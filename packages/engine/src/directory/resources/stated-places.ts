import { dirname, resolve } from 'node:path';
import { HandoverError, MAX_STATUS_BYTES } from '@handover/material';
import { EngineError } from '../../error.ts';
import type { ProbeCommand } from '../../evidence/probe-command.ts';
import type { StatusAddress } from '../../evidence/status-document.ts';
import type { DeclaredConsumer, Locator, Whereabouts } from '../../evidence/whereabouts.ts';
import { authorityRef, idOf } from '../../snapshot/catalogue.ts';
import type { Responsibilities } from '../../snapshot/responsibilities.ts';
import { accountNumber } from '../disk/accounts.ts';
import type { FileReader } from '../disk/files.ts';
import { type Accepts, checkedPlace, openPlaced } from '../disk/placed-file.ts';
import type { OwnUser } from '../disk/trusted-path.ts';
import type { UntrustedFiles } from '../disk/untrusted-files.ts';
import { everyAddress, type ResolveName, resolveName } from './addresses.ts';

const SHARED = 0o022;

/** Makes a consumer's probe command of its words. */
export type CommandOf = (consumer: string, argv: readonly string[]) => ProbeCommand;

/** Each of its addresses may be behind; what its command says counts beside what any of them says, and is asked for once. */
const withCommand = (found: Whereabouts, command: ProbeCommand | undefined): Whereabouts => {
  if (command === undefined || 'refused' in found) return found;
  let ran: ReturnType<ProbeCommand['run']> | undefined;
  const once: ProbeCommand = {
    name: command.name,
    run: () => {
      ran ??= command.run();
      return ran;
    },
  };
  return { endpoints: found.endpoints.map((endpoint) => ({ ...endpoint, command: once })) };
};

/** The users that own the files of the leaves that a consumer presents: its programs run as them. */
const usersOf = (
  files: FileReader,
  { leaves, authority }: Responsibilities,
  { presents, leaf: named }: DeclaredConsumer,
): readonly number[] => {
  const wanted = named === undefined ? undefined : authorityRef(named, authority.metadata.namespace);
  const presented = presents ? [...leaves.values()] : [];
  return presented
    .filter((leaf) => wanted === undefined || idOf(leaf) === wanted)
    .flatMap(({ spec }) => {
      const owner = spec.files?.owner;
      if (owner === undefined) return [];
      try {
        return [accountNumber(files, 'user', owner)];
      } catch (error) {
        if (error instanceof HandoverError) return []; // said where the leaf is written
        throw error;
      }
    });
};

/**
 * Where the resources of a directory say that consumers are asked. What a file or a socket says is believed only if its program put it
 * there: where every user can create files, as in /tmp, it must belong to a known user; elsewhere the owner of the folder vouches for it.
 */
export const statedPlaces =
  (
    files: FileReader,
    far: UntrustedFiles,
    home: string,
    uid: OwnUser,
    commandOf: CommandOf,
    resolveHost: ResolveName = resolveName,
  ): Locator =>
  (responsibilities) =>
  async (consumer) => {
    const { status, metrics, probe } = consumer;
    const { file, socket } = status ?? {};
    const named = file ?? socket;
    const command = probe?.command && commandOf(consumer.name, probe.command);
    if (named === undefined) return withCommand(await everyAddress(consumer, resolveHost), command);
    const path = resolve(home, named);
    const refuse = (why: string): HandoverError =>
      new EngineError('STATUS_REFUSED', `status ${file === undefined ? 'socket' : 'file'} ${path} ${why}`, {
        path,
        retry: 'later',
      });
    const accepts: Accepts = (owner, at, way) => {
      const folder = dirname(at);
      if (((way.facts(folder)?.mode ?? SHARED) & SHARED) === 0) return true;
      if (usersOf(files, responsibilities, consumer).includes(owner)) return true;
      throw new EngineError(
        'HOME_FOREIGN_OWNER',
        `${at === path ? 'it' : at} belongs to user ${owner}, and every user can create files in ${folder}; use a folder that only root or that user can write, or set spec.files.owner of the Leaf`,
        { path: at },
      );
    };
    const placed = { far, share: responsibilities.id, path, uid, refuse };
    const read = async (): Promise<Uint8Array> => {
      const asked = { ...placed, field: 'status.file', most: MAX_STATUS_BYTES, accepts: () => accepts };
      return (await openPlaced(asked)).bytes;
    };
    // One that is not there yet may be of another user when it is asked.
    const place: StatusAddress =
      file !== undefined
        ? { file: { path, read } }
        : {
            socket: path,
            check: () => checkedPlace(placed, accepts),
            ask: () => far.document(path, responsibilities.id),
          };
    const found = await everyAddress({ name: consumer.name, metrics, probe }, resolveHost);
    return 'refused' in found
      ? found
      : withCommand(
          { endpoints: found.endpoints.map((endpoint) => ({ ...endpoint, status: place })) },
          command,
        );
  };
