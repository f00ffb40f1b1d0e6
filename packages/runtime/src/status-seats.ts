import { createServer, type Server } from 'node:http';
import type { Socket } from 'node:net';
import { resolve } from 'node:path';
import { isOwnConnection } from './cluster-process.ts';
import type { Group, Lead, Seat } from './status-cluster.ts';
import { renderDocument } from './status-document.ts';
import { keepFile } from './status-file.ts';
import {
  closeServer,
  documentServer,
  fileId,
  joinSibling,
  listen,
  listenOnSocket,
  takeSiblings,
} from './status-http.ts';
import type { StatusOptions } from './status-server.ts';

/** Everyone may read a status document. Only processes of the same user may report to the one that answers. */
const READABLE = 0o666;
const PRIVATE = 0o600;

const nothing = () => undefined;
const always = () => true;

const rendererOf =
  ({ podUid }: StatusOptions, group: Group) =>
  async (): Promise<string> =>
    renderDocument(await group.reports(), podUid);

/** All addresses are one machine's: a process that listens on every address is reached on its loopback. */
const reachable = (host: string | undefined): string =>
  host === undefined || host === '0.0.0.0' || host === '::' ? 'localhost' : host;

export const portSeat = (options: StatusOptions): Seat => ({
  lead: async (group) => {
    const server = documentServer(rendererOf(options, group));
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
  join: () => joinSibling({ host: reachable(options.host), port: options.port }),
});

/** Siblings meet at a socket beside the path, which their user alone can open. */
const meetingPoint = (path: string): string => `${path}.siblings`;

/** In a cluster the worker that holds the meeting point does the work. `parent` is then the primary's process id. */
const withMeetingPoint = (
  path: string,
  parent: number | undefined,
  work: (group: Group) => Promise<Omit<Lead, 'isHeld'>>,
): Seat => ({
  lead: async (group) => {
    if (parent === undefined) return { ...(await work(group)), isHeld: always };
    const point = meetingPoint(path);
    const meeting: Server = createServer((_request, response) => response.destroy()).unref();
    takeSiblings(meeting, group.siblings, always);
    await listenOnSocket(meeting, point, PRIVATE);
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
  join: (): Promise<Socket | undefined> => joinSibling({ socketPath: meetingPoint(path) }),
});

export const socketSeat = (options: StatusOptions, path: string, parent: number | undefined): Seat =>
  withMeetingPoint(path, parent, async (group) => {
    const server = documentServer(rendererOf(options, group));
    await listenOnSocket(server, path, READABLE);
    return { port: undefined, changed: nothing, close: () => closeServer(server) };
  });

export const fileSeat = (options: StatusOptions, path: string, parent: number | undefined): Seat =>
  withMeetingPoint(path, parent, async (group) => {
    const file = await keepFile(path, rendererOf(options, group), parent ?? process.ppid);
    group.onChange(file.changed);
    file.changed(); // a sibling may have come during the first write
    return { port: undefined, ...file };
  });

/** Where the options say. */
export const seatOf = (options: StatusOptions, parent: number | undefined): Seat => {
  if (options.file !== undefined) return fileSeat(options, resolve(options.file), parent);
  if (options.socket !== undefined) return socketSeat(options, resolve(options.socket), parent);
  return portSeat(options);
};
