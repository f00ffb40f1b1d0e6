import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { openIdentity, serveStatus } from '@handover/runtime';
import { systemClock } from '@handover/runtime/clock';
import { temporaryFolder } from '@handover/test-api-server';
import { expect, test } from 'vitest';
import { Directories, loaded } from '../../test/directories.ts';
import { MESH } from '../../test/world.ts';
import { askStatus, converge, DirectoryHome } from '../index.ts';

const directories = new Directories();
const scratch = temporaryFolder();
const MESH_ID = 'default/mesh';

test.each(['socket', 'file'] as const)(
  'a process that uses the runtime and shows its status by %s is followed without waiting for reloadWithin',
  async (place) => {
    const at = join(scratch, `status.${place}`);
    const consumer = (leaf: string) =>
      `{name: ${leaf}, presents: true, verifies: true, leaf: ${leaf}, status: {${place}: ${at}}}`;
    const path = directories.make(
      MESH.replace(
        '{lifetime: 1y,',
        `{lifetime: 1y, consumers: [${consumer('a')}, ${consumer('b')}],`,
      ).replace('20s', '1h'),
    );
    const home = new DirectoryHome(path, { timers: systemClock });
    const phase = async () => (await converge(loaded(home), MESH_ID)).plan.phase;
    expect(await phase()).toBe('Stable');
    const stop = new AbortController();
    const folder = (name: string) => join(path, 'out/default/secrets', name);
    const files = (name: string) => ({
      cert: join(folder(name), 'tls.crt'),
      key: join(folder(name), 'tls.key'),
      ca: join(folder(name), 'ca.crt'),
    });
    const identities = [
      await openIdentity(files('a'), { signal: stop.signal }),
      await openIdentity(files('b'), { signal: stop.signal }),
    ];
    const server = await serveStatus({ [place]: at, sources: identities, signal: stop.signal });
    await home.requests.ask({ authority: MESH_ID, rotate: 'r' });
    const generations = async () =>
      (await home.authorities.load(MESH_ID))?.state.generations.map(
        ({ number, role }) => `${number} ${role}`,
      );
    // reloadWithin is an hour: what ends this rotation is what the process shows.
    await expect
      .poll(async () => [await phase(), await generations()], { timeout: 20_000 })
      .toEqual(['Stable', ['2 current']]);
    // It sends what its files hold, the cross-certificate among it.
    const record = await home.authorities.load(MESH_ID);
    if (record === undefined) throw new Error('no authority');
    const address = place === 'socket' ? { socket: at } : { file: { path: at, read: () => readFile(at) } };
    const issued = { record, issuers: new Map<string, string>(), now: systemClock.now() };
    await expect
      .poll(async () => (await askStatus(address, issued, systemClock)).proof?.chain, { timeout: 20_000 })
      .toBe('sends');
    stop.abort();
    await server.close();
  },
);
