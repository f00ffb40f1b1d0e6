import { readFileSync, readlinkSync } from 'node:fs';
import { type ConnectionOptions, createSecureContext, type SecureContext, type Server } from 'node:tls';
import { type Identity, openIdentity } from '@handover/runtime';

/** How a process of the mesh holds its certificate and its trust. */
export interface Material {
  serve(server: Server): void;
  /** For one handshake, now. */
  client(): ConnectionOptions;
  readonly identity?: Identity;
}

const FOLDER = '/tls';
const paths = { cert: `${FOLDER}/tls.crt`, key: `${FOLDER}/tls.key`, ca: `${FOLDER}/ca.crt` };

const hot = async (_delay?: number): Promise<Material> => {
  const identity = await openIdentity(paths);
  return { identity, serve: (server) => void identity.serve(server), client: () => identity.tlsOptions() };
};

interface Files {
  readonly cert: string;
  readonly key: string;
  readonly ca: string;
}
const filesIn = (folder: string): Files => ({
  cert: readFileSync(`${folder}/tls.crt`, 'utf8'),
  key: readFileSync(`${folder}/tls.key`, 'utf8'),
  ca: readFileSync(`${folder}/ca.crt`, 'utf8'),
});

/** As a careful program without our runtime: checks every second, and loads all three files of one snapshot,
 * `delay` seconds after it saw a new one. */
const polling = (delay = 0): Material => {
  const snapshot = (): string => readlinkSync(`${FOLDER}/..data`);
  let seen = snapshot();
  let files = filesIn(`${FOLDER}/${seen}`);
  let context: SecureContext = createSecureContext(files);
  const servers: Server[] = [];
  let since: number | undefined;
  setInterval(() => {
    try {
      const now = snapshot();
      if (now === seen) return;
      since ??= performance.now();
      if (performance.now() < since + delay * 1_000) return;
      since = undefined;
      files = filesIn(`${FOLDER}/${now}`);
      context = createSecureContext(files);
      for (const server of servers) server.setSecureContext(files);
      seen = now;
    } catch {
      // swapped in between: loaded by the next check
    }
  }, 1_000);
  return {
    serve: (server) => {
      servers.push(server);
      server.setSecureContext(files);
    },
    client: () => ({ secureContext: context }),
  };
};

/** Reads once, when it starts. */
const frozen = (_delay?: number): Material => {
  const files = filesIn(FOLDER);
  const context = createSecureContext(files);
  return { serve: (server) => server.setSecureContext(files), client: () => ({ secureContext: context }) };
};

export const MANNERS = { hot, polling, frozen } as const;
export type Manner = keyof typeof MANNERS;
