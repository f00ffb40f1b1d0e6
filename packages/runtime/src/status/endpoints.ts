import { lstatSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { Socket } from 'node:net';
import { resolve } from 'node:path';
import type { Clock } from '@handover/material';
import type { Endpoint, Group, Lead, Membership } from './cluster.ts';
import { isOwnConnection } from './cluster-process.ts';
import { renderDocument } from './document.ts';
import { keepFile } from './file.ts';
import {
  closeServer,
  documentServer,
  fileId,
  joinSibling,
  listen,
  listenOnSocket,
  takeSiblings,
} from './http.ts';
import type { StatusPlace } from './server.ts';

/** Everyone may read a status document. Only processes of the same user may report to the one that answers. */
const READABLE = 0o666;
const PRIVATE = 0o600;

const nothing = () => undefined;
const always = () => true;

const rendererOf =
  ({ podUid }: StatusPlace, group: Group, clock: Clock) =>
  async (): Promise<string> =>
    renderDocument(await group.reports(), podUid, clock.now());

/** All addresses are one machine's: a process that listens on every address is reached on its loopback. */
const reachable = (host: string | undefined): string =>
  host === undefined || host === '0.0.0.0' || host === '::' ? 'localhost' : host;

const portEndpoint = (options: StatusPlace, clock: Clock): Endpoint => ({
  lead: async (group) => {
    const server = documentServer(rendererOf(options, group, clock));
    takeSiblings(server, group.siblings, isOwnConnection);
    await listen(server, {
      port: options.port,
      ...(options.host === undefined ? {} : { host: options.host }),
    });
    const address = server.address();
    return {
      port: typeof address === 'object' && address !== null ? address.port : undefined,
      isHeld: always,
      changed: nothing,
      close: () => closeServer(server),
    };
  },
  join: async () => {
    const socket = await joinSibling({ host: reachable(options.host), port: options.port });
    if (socket === undefined || isOwnConnection(socket)) return socket;
    socket.destroy(); // a process of another user answers there
    return undefined;
  },
});

/** Siblings meet at a socket beside the path, which their user alone can open. */
const meetingPoint = (path: string): string => `${path}.siblings`;

const isOwn = (path: string): boolean =>
  lstatSync(path, { throwIfNoEntry: false })?.uid === process.getuid?.();

/** In a group the process that holds the meeting point does the work. */
const withMeetingPoint = (
  path: string,
  membership: Membership | undefined,
  clock: Clock,
  work: (group: Group) => Promise<Omit<Lead, 'isHeld'>>,
): Endpoint => ({
  lead: async (group) => {
    if (membership === undefined) return { ...(await work(group)), isHeld: always };
    const point = meetingPoint(path);
    const meeting: Server = createServer((_request, response) => response.destroy()).unref();
    takeSiblings(meeting, group.siblings, always);
    await listenOnSocket(meeting, point, PRIVATE, clock);
    const held = fileId(point);
    try {
      const working = await work(group);
      return {
        ...working,
        isHeld: () => fileId(point) === held,
        close: async () => {
          await working.close();
          await closeServer(meeting);
        },
      };
    } catch (error) {
      group.siblings.leave();
      await closeServer(meeting);
      throw error;
    }
  },
  join: async (): Promise<Socket | undefined> => {
    const point = meetingPoint(path);
    return isOwn(point) ? joinSibling({ socketPath: point }) : undefined;
  },
});

const socketEndpoint = (
  options: StatusPlace,
  path: string,
  membership: Membership | undefined,
  clock: Clock,
): Endpoint =>
  withMeetingPoint(path, membership, clock, async (group) => {
    const server = documentServer(rendererOf(options, group, clock));
    await listenOnSocket(server, path, READABLE, clock);
    return { port: undefined, changed: nothing, close: () => closeServer(server) };
  });

const fileEndpoint = (
  options: StatusPlace,
  path: string,
  membership: Membership | undefined,
  clock: Clock,
): Endpoint => {
  // Another one after the parent has ended.
  const stranger = () => (membership?.expected().includes(process.ppid) ? undefined : process.ppid);
  return withMeetingPoint(path, membership, clock, async (group) => {
    const file = await keepFile(path, rendererOf(options, group, clock), stranger, clock);
    group.onChange(file.changed);
    file.changed(); // a sibling may have come during the first write
    return { port: undefined, ...file };
  });
};

/** Where the options say, for a process alone or for a group. */
export const endpointFor = (
  options: StatusPlace,
  membership: Membership | undefined,
  clock: Clock,
): Endpoint => {
  if (options.file !== undefined) return fileEndpoint(options, resolve(options.file), membership, clock);
  if (options.socket !== undefined)
    return socketEndpoint(options, resolve(options.socket), membership, clock);
  return portEndpoint(options, clock);
};
