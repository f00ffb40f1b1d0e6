import { mkdirSync, writeFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { freePort, temporaryFolder } from '@handover/test-api-server';
import { expect } from 'vitest';
import { findEnvoy } from '../src/envoy.ts';
import type { Direction } from '../src/load.ts';
import { handover, startHandover, startProgram } from '../src/processes.ts';
import { argumentsFor, type EnvoySetting, filesOf, type Watching } from './config.ts';
import { callMtls, callThrough, hotPeer, latePeer, type Peer } from './peer.ts';

export const ENVOYS = ['envoy-a', 'envoy-b'] as const;
const PEERS = ['hot', 'late'] as const;
type Name = (typeof ENVOYS)[number] | (typeof PEERS)[number];
const NAMES: readonly Name[] = [...ENVOYS, ...PEERS];

const WATCHING: Readonly<Record<(typeof ENVOYS)[number], Watching>> = {
  'envoy-a': 'directory',
  'envoy-b': 'files',
};
/** `late` gives no evidence, and keeps what is promised for it. */
const RELOAD_WITHIN_S = 12;
const LATE_MS = 9_000;

const servername = (name: Name): string => `${name}.field.test`;
const isEnvoy = (name: Name): name is (typeof ENVOYS)[number] => ENVOYS.some((one) => one === name);

const resources = (ports: Readonly<Record<Name, number>>): string => {
  const apiVersion = 'handover.dev/v1alpha1';
  const authority = {
    apiVersion,
    kind: 'Authority',
    metadata: { name: 'field' },
    spec: {
      rotation: { reloadWithin: `${RELOAD_WITHIN_S}s` },
      consumers: NAMES.map((name) => ({
        ...{ name, presents: true, verifies: true, leaf: name },
        ...(name === 'late' ? {} : { probe: { address: `127.0.0.1:${ports[name]}`, mtls: true } }),
      })),
    },
  };
  const leaves = NAMES.map((name) => ({
    apiVersion,
    kind: 'Leaf',
    metadata: { name },
    spec: { authority: 'field', dnsNames: [servername(name)], usages: ['server', 'client'] },
  }));
  return [authority, ...leaves].map((one) => JSON.stringify(one)).join('\n---\n');
};

export interface EnvoyStage {
  /** The directory home. */
  readonly dir: string;
  readonly directions: readonly Direction[];
  /** Folder of the files of one program. */
  tls(name: string): string;
  /** Statistics of an Envoy whose names match, summed. */
  stat(envoy: (typeof ENVOYS)[number], names: RegExp): Promise<number>;
  handover: typeof handover;
  /** Ends `handover run`. */
  stopHandover(): Promise<void>;
}

/**
 * Two Envoys and two Node programs with certificates of one directory home, kept by `handover run`. Each Envoy calls everyone
 * and is called by everyone.
 */
export async function setStage(): Promise<EnvoyStage> {
  const dir = temporaryFolder();
  const tls = (name: string): string => join(dir, 'out/default/secrets', name);
  const ports = Object.fromEntries(
    await Promise.all(NAMES.map(async (name) => [name, await freePort()] as const)),
  ) as Record<Name, number>;
  const plain = new Map<Name, number>();
  const admin = new Map<Name, number>();
  writeFileSync(join(dir, 'handover.yaml'), resources(ports));
  expect(await handover('run', dir, '--once')).toMatchObject({ code: 0 });
  const peers = new Map<Name, Peer>([
    ['hot', await hotPeer('hot', tls('hot'))],
    ['late', latePeer('late', tls('late'), LATE_MS)],
  ]);
  for (const [name, { server }] of peers) {
    await new Promise<void>((resolve) => server.listen(ports[name], '127.0.0.1', resolve));
    expect((server.address() as AddressInfo).port).toBe(ports[name]);
  }
  for (const name of ENVOYS) {
    const conf = join(dir, `${name}.conf`);
    const setting: EnvoySetting = {
      name,
      speaks: 'http',
      conf,
      tls: tls(name),
      watching: WATCHING[name],
      bind: '127.0.0.1',
      ports: { mtls: ports[name], plain: await freePort(), admin: await freePort() },
      upstreams: NAMES.filter((other) => other !== name).map((other) => ({
        name: other,
        address: `127.0.0.1:${ports[other]}`,
        servername: servername(other),
      })),
    };
    plain.set(name, setting.ports.plain);
    admin.set(name, setting.ports.admin);
    mkdirSync(conf);
    for (const [file, text] of Object.entries(filesOf(setting))) writeFileSync(join(conf, file), text);
    startProgram(findEnvoy(), argumentsFor(conf));
  }
  const directions = NAMES.flatMap((from) =>
    NAMES.filter((to) => to !== from && (isEnvoy(from) || isEnvoy(to))).map((to) => ({
      name: `${from} → ${to}`,
      call: () => {
        const port = plain.get(from);
        if (port !== undefined) return callThrough(port, to);
        const target = { name: to, port: ports[to], servername: servername(to) };
        return callMtls(peers.get(from)?.client() ?? {}, target);
      },
    })),
  );
  for (const { name, call } of directions)
    await expect.poll(call, { message: name, timeout: 60_000 }).toBeUndefined();
  const running = startHandover('run', dir);
  return {
    dir,
    directions,
    tls,
    handover,
    stopHandover: running.stop,
    stat: async (envoy, names) => {
      const answer = await fetch(`http://127.0.0.1:${admin.get(envoy)}/stats?usedonly`);
      return (await answer.text())
        .split('\n')
        .map((line) => /^(\S+): (\d+)$/.exec(line))
        .filter((match) => names.test(match?.[1] ?? ''))
        .reduce((sum, match) => sum + Number(match?.[2]), 0);
    },
  };
}
