import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Plan } from '@handover/core';
import { Board, serveDashboard } from '@handover/dashboard';
import {
  type ControllerEvent,
  type DirectoryHome,
  passOnce,
  restOfStatus,
  runDirectory,
} from '@handover/engine';
import type { Clock } from '@handover/material';
import type { Context } from '../context.ts';
import { openHome } from '../directory/open-home.ts';
import { tellBoard } from '../tell-board.ts';
import { DEMO_AUTHORITY, demoYaml, MEMBERS } from './resources.ts';
import type { Running } from './service.ts';
import { newService } from './threaded-service.ts';

const WORKERS = 12;

/** Handshakes in every direction, at a steady rate, until `signal`. */
export class Load {
  handshakes = 0;
  failures = 0;
  /** The first few, by name. */
  readonly problems: string[] = [];
  readonly #services: readonly Running[];
  readonly #perSecond: number;
  readonly #clock: Clock;

  constructor(services: readonly Running[], perSecond: number, clock: Clock) {
    this.#services = services;
    this.#perSecond = perSecond;
    this.#clock = clock;
  }

  async run(signal: AbortSignal): Promise<void> {
    const pairs = this.#services.flatMap((from) =>
      this.#services.filter((to) => to !== from).map((to) => [from, to] as const),
    );
    let next = 0;
    const began = this.#clock.monotonic();
    const worker = async (): Promise<void> => {
      while (!signal.aborted) {
        const turn = next++;
        const wait = began + (turn * 1000) / this.#perSecond - this.#clock.monotonic();
        if (wait > 0) await this.#clock.sleep(wait);
        const pair = pairs[turn % pairs.length];
        if (pair === undefined || signal.aborted) return;
        const problem = await pair[0].call(pair[1]);
        this.handshakes++;
        if (problem === undefined) continue;
        this.failures++;
        if (this.problems.length < 5) this.problems.push(`${pair[0].name} → ${pair[1].name}: ${problem}`);
      }
    };
    await Promise.all(Array.from({ length: WORKERS }, worker));
  }
}

/** Serves what each service has loaded, and restarts services. Loopback only. */
async function serveControl(
  services: ReadonlyMap<string, Running>,
  clock: Clock,
): Promise<{ readonly server: Server; readonly port: number }> {
  const server = createServer((request, response) => {
    const [, kind, name = '', verb] = (request.url ?? '').split('/');
    const service = kind === 'services' ? services.get(name) : undefined;
    const failed = (): void => void response.writeHead(500).end();
    if (service === undefined) response.writeHead(404).end();
    else if (verb === 'restart' && request.method === 'POST')
      service.restart().then(() => response.writeHead(204).end(), failed);
    else if (verb === undefined && request.method === 'GET')
      service
        .status(clock.now())
        .then(
          (status) =>
            response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(status)),
          failed,
        );
    else response.writeHead(405).end();
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject).listen(0, '127.0.0.1', resolve);
  });
  return { server, port: (server.address() as AddressInfo).port };
}

interface Rotation {
  readonly rotation: number;
  readonly generation: number;
  readonly seconds: number;
  readonly phases: Readonly<Record<string, number>>;
  readonly handshakes: number;
  readonly failures: number;
}

export interface DemoReport {
  readonly rotations: number;
  readonly handshakes: number;
  readonly failures: number;
  readonly seconds: number;
  readonly perRotation: readonly Rotation[];
  readonly problems: readonly string[];
}

export interface Moment {
  readonly rotation: number;
  readonly phase: string;
  readonly waitsFor: string | undefined;
  readonly handshakes: number;
  readonly failures: number;
  readonly perSecond: number;
  readonly url: string;
}

interface DemoOptions extends Pick<Context, 'clock' | 'sinceBoot'> {
  /** How many rotations; undefined: without end. */
  readonly rotations: number | undefined;
  readonly port: number;
  /** Scales delays and reloadWithin; 1 is the normal pace. */
  readonly pace?: number;
  readonly onMoment: (moment: Moment) => void;
  /** When the load has ended, with the number of pages that are open; they stay until it resolves. */
  readonly onEnd?: (report: DemoReport, viewers: number) => Promise<void>;
  readonly signal: AbortSignal;
}

const PER_SECOND = 150;
/** So that three rotations have at least 5,000: on a busy machine the load continues after the last rotation. */
const LEAST_PER_ROTATION = 1_700;
/** A demo with --rotations ends after this time at the latest, even if handshakes are slow. */
const MOST_SECONDS = 84;
const BETWEEN_MS = 1_000;

const rounded = (ms: number): number => Math.round(ms / 100) / 10;

/** An authority, services under load that reload late on purpose, rotation after rotation. */
export async function demo(options: DemoOptions): Promise<DemoReport> {
  const directory = await mkdtemp(join(tmpdir(), 'handover-demo-'));
  const ending = new AbortController();
  const services = new Map<string, Running>();
  const closers: (() => unknown)[] = [];
  const signal = AbortSignal.any([options.signal, ending.signal]);
  try {
    return await show(directory, services, closers, signal, ending, options);
  } finally {
    ending.abort();
    for (const close of closers.reverse()) await close();
    for (const service of services.values()) await service.stop();
    await rm(directory, { recursive: true, force: true });
  }
}

async function show(
  directory: string,
  services: Map<string, Running>,
  closers: (() => unknown)[],
  signal: AbortSignal,
  ending: AbortController,
  options: DemoOptions,
): Promise<DemoReport> {
  const { pace = 1, clock } = options;
  const began = clock.monotonic();
  const yaml = (text: string) => writeFile(join(directory, 'demo.yaml'), text, { mode: 0o644 });
  const home = openHome(directory, options);
  await yaml(demoYaml(0, undefined, pace));
  const lock = await home.lock();
  closers.push(() => lock.release());
  await passOnce(home, home.load(), () => {});
  for (const { name, manner } of MEMBERS) {
    const paced = manner.kind === 'slow' ? { ...manner, ms: manner.ms * pace } : manner;
    const service = newService(name, paced, `${home.out}/demo/secrets/${name}`, clock);
    services.set(name, service);
    await service.start();
  }

  const load = new Load([...services.values()], PER_SECOND, clock);
  const perRotation: Rotation[] = [];
  let rotation = 0;
  let plan: Plan | undefined;
  let url = '';
  let rate = { at: began, handshakes: 0, perSecond: 0 };
  let counted = { handshakes: 0, failures: 0 };
  const moment = (): Moment => {
    const [blocker] = plan?.blockedBy ?? [];
    const { handshakes, failures } = load;
    const { perSecond } = rate;
    const phase = plan?.phase ?? 'Stable';
    return { rotation, phase, waitsFor: blocker?.consumer, handshakes, failures, perSecond, url };
  };
  const control = await serveControl(services, clock);
  closers.push(() => new Promise((closed) => control.server.close(closed).closeAllConnections()));
  const board = new Board({
    title: 'demo on this machine',
    now: () => clock.now(),
    rest: async () => restOfStatus(await home.fresh()),
  });
  const page = await serveDashboard({ board, clock, port: options.port, option: '--port' });
  closers.push(() => page.close());
  url = page.url;
  await yaml(demoYaml(control.port, new Map([...services].map(([name, { port }]) => [name, port])), pace));

  const heard = new Set<(event: ControllerEvent) => void>();
  const failure = { error: undefined as unknown };
  const running = runDirectory(
    home,
    (event) => {
      if (event.kind === 'acted' || event.kind === 'rested') plan = event.plan;
      tellBoard(board, event);
      for (const listener of heard) listener(event);
    },
    signal,
  ).catch((error: unknown) => {
    failure.error = error;
    ending.abort();
  });
  const loading = load.run(signal);
  closers.push(
    () => running,
    () => loading,
  );
  const ticking = clock.every(1_000, () => {
    const at = clock.monotonic();
    const failures = load.failures - counted.failures;
    board.counted(load.handshakes - counted.handshakes - failures, failures);
    counted = { handshakes: load.handshakes, failures: load.failures };
    rate = {
      at,
      handshakes: load.handshakes,
      perSecond: Math.round(((load.handshakes - rate.handshakes) * 1000) / (at - rate.at)),
    };
    options.onMoment(moment());
  });
  closers.push(() => ticking.cancel());
  options.onMoment(moment());

  while (!signal.aborted && (options.rotations === undefined || rotation < options.rotations)) {
    rotation++;
    const one = await rotate(clock, home, rotation, load, heard, signal, () => options.onMoment(moment()));
    if (one !== undefined) perRotation.push(one);
    await clock.sleep(BETWEEN_MS, signal);
  }
  const least = Math.ceil((options.rotations ?? 0) * LEAST_PER_ROTATION * pace);
  while (!signal.aborted && load.handshakes < least) {
    if (clock.monotonic() - began > MOST_SECONDS * 1000) break;
    await clock.sleep(BETWEEN_MS, signal);
  }
  ending.abort();
  await Promise.all([running, loading]);
  if (failure.error !== undefined) throw failure.error;
  const report = {
    rotations: perRotation.length,
    handshakes: load.handshakes,
    failures: load.failures,
    seconds: rounded(clock.monotonic() - began),
    perRotation,
    problems: load.problems,
  };
  await options.onEnd?.(report, page.viewers);
  return report;
}

/** One rotation from its request until the old CA is gone; undefined: it was interrupted. */
const rotate = async (
  clock: Clock,
  home: DirectoryHome,
  rotation: number,
  load: Load,
  heard: Set<(event: ControllerEvent) => void>,
  signal: AbortSignal,
  changed: () => void,
): Promise<Rotation | undefined> => {
  const began = clock.monotonic();
  const before = { handshakes: load.handshakes, failures: load.failures };
  const phases: Record<string, number> = {};
  let phase = '';
  let since = began;
  const ended = new Promise<void>((resolve) => {
    const listener = (event: ControllerEvent): void => {
      if (event.kind !== 'acted' && event.kind !== 'rested') return;
      if (event.plan.phase !== phase) {
        const at = clock.monotonic();
        if (phase !== '') phases[phase] = rounded((phases[phase] ?? 0) * 1000 + at - since);
        phase = event.plan.phase;
        since = at;
        changed();
      }
      const isDone = event.kind === 'rested' && phase === 'Stable' && Object.keys(phases).length > 1;
      if (isDone || signal.aborted) {
        heard.delete(listener);
        resolve();
      }
    };
    heard.add(listener);
    signal.addEventListener('abort', () => resolve(), { once: true });
  });
  await home.requests.ask({ authority: DEMO_AUTHORITY, rotate: `demo-${rotation}` });
  await ended;
  if (signal.aborted) return undefined;
  const state = (await home.authorities.load(DEMO_AUTHORITY))?.state;
  const { Stable: _before, ...moving } = phases;
  return {
    rotation,
    generation: state?.generations[0]?.number ?? 0,
    seconds: rounded(clock.monotonic() - began),
    phases: moving,
    handshakes: load.handshakes - before.handshakes,
    failures: load.failures - before.failures,
  };
};
