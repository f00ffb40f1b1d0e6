import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Keeper } from '../keeper-client.ts';
import type { ProcessSpec } from '../keeper-protocol.ts';
import { programPath, scriptPath } from '../places.ts';
import { reservePorts } from '../ports.ts';
import { until } from '../ready.ts';
import { requireProgram } from '../system-packages.ts';
import { NETWORK } from './configuration.ts';

/** A network namespace of the cluster's own. */
export interface Network {
  readonly enter: readonly string[];
  placed(spec: ProcessSpec): ProcessSpec;
  /** Forwards a port of this machine's loopback to an address inside. */
  forward(port: number, target: string): Promise<void>;
  /** Forwards an address inside to one of this machine's loopback. */
  expose(inside: string, port: number): Promise<void>;
}

/** `addresses`: of the nodes, the first one first. */
export async function startNetwork(
  keeper: Keeper,
  directory: string,
  addresses: readonly string[],
): Promise<Network> {
  const ready = join(directory, 'network.ready');
  const withBits = addresses.map((address) => `${address}/${NETWORK.bits}`);
  const pid = await keeper.start({
    name: 'network',
    command: requireProgram('unshare'),
    args: ['--net', '--', 'sh', scriptPath('network.sh'), ready, NETWORK.bridge, ...withBits],
    log: join(directory, 'network.log'),
  });
  await until(async () => existsSync(ready), {
    what: "the cluster's own network",
    directory,
    stillRuns: () => keeper.pidOf('network') !== undefined,
  });
  const enter = [requireProgram('nsenter'), `--net=/proc/${pid}/ns/net`, '--'] as const;
  const placed = (spec: ProcessSpec): ProcessSpec => ({
    ...spec,
    command: enter[0],
    args: [...enter.slice(1), spec.command, ...spec.args],
  });

  let relays = 0;
  const relay = (name: string, from: string, to: string): ProcessSpec => ({
    name,
    command: process.execPath,
    args: [programPath('relay'), join(directory, `${name}.ready`), from, to],
    log: join(directory, `${name}.log`),
  });
  const listening = (name: string): Promise<void> =>
    until(async () => existsSync(join(directory, `${name}.ready`)), {
      what: `${name} listening`,
      directory,
      stillRuns: () => keeper.pidOf(name) !== undefined,
    });
  return {
    enter,
    placed,
    forward: async (port, target) => {
      const socket = join(directory, `relay-${++relays}.sock`);
      const [outer, inner] = [`relay-${relays}-outside`, `relay-${relays}-inside`];
      await keeper.start(placed(relay(inner, `unix:${socket}`, `tcp:${target}`)));
      await keeper.start(relay(outer, `tcp:127.0.0.1:${port}`, `unix:${socket}`));
      await Promise.all([listening(inner), listening(outer)]);
    },
    expose: async (inside, port) => {
      const socket = join(directory, `relay-${++relays}.sock`);
      const [outer, inner] = [`relay-${relays}-outside`, `relay-${relays}-inside`];
      await keeper.start(relay(outer, `unix:${socket}`, `tcp:127.0.0.1:${port}`));
      await keeper.start(placed(relay(inner, `tcp:${inside}`, `unix:${socket}`)));
      await Promise.all([listening(inner), listening(outer)]);
    },
  };
}

export const freePort = async (keeper: Keeper, portsDirectory: string): Promise<number> => {
  const { ports, files } = await reservePorts(portsDirectory, 1);
  await keeper.alsoRemove(files);
  return ports[0] ?? 0;
};
