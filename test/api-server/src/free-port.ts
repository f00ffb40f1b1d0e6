import { randomInt } from 'node:crypto';
import { createServer } from 'node:net';

// Below the ports that the kernel gives to connections and to servers that ask for any (ip_local_port_range, from 32768), which would take this one
// before the program listens; and below those of test clusters.
const FIRST = 10_000;
const END = 20_000;
const TRIES = 100;

const isFree = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const server = createServer().once('error', () => resolve(false));
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
  });

/** A port of loopback where nothing listens, for a program that has to be told one. */
export const freePort = async (): Promise<number> => {
  for (let tries = 0; tries < TRIES; tries++) {
    const port = randomInt(FIRST, END);
    if (await isFree(port)) return port;
  }
  throw new Error(`found no free port from ${FIRST} on in ${TRIES} tries`);
};
