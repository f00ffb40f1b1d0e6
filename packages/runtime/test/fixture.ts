import type { Clock } from '@handover/material';
import type { TestClock } from '@handover/test-api-server';
import { afterAll, onTestFinished, TestRunner } from 'vitest';
import { systemClock } from '../src/clock.ts';
import {
  type FollowOptions,
  type Identity,
  type KeptEvent,
  openIdentity,
  openTrust,
  type ReloadedEvent,
  type Trust,
  type TrustOptions,
} from '../src/index.ts';
import { CLOCK } from '../src/options.ts';
import type { Leaf, MockCa } from './mock-ca.ts';
import { Volume } from './volume.ts';
import { eventually } from './world.ts';

/** Everything a test opened, by one clock, closed in one go when the test is over. Made outside a test: when those of the file are. */
export class Scope {
  readonly clock: Clock;
  readonly #stop = new AbortController();
  readonly #ends: (() => unknown)[] = [];

  constructor(clock: Clock = systemClock) {
    this.clock = clock;
    if (TestRunner.getCurrentTest() === undefined) afterAll(() => this.end());
    else onTestFinished(() => this.end());
  }

  get signal(): AbortSignal {
    return this.#stop.signal;
  }

  /** Options for everything that follows files. */
  get follow(): { readonly signal: AbortSignal } {
    return { signal: this.signal, [CLOCK]: this.clock } as { readonly signal: AbortSignal };
  }

  volume(files: Readonly<Record<string, string | Buffer>>): Volume {
    const volume = new Volume(files);
    this.#ends.push(() => volume.remove());
    return volume;
  }

  add<Closable extends { close(): unknown }>(closable: Closable): Closable {
    this.#ends.unshift(() => closable.close());
    return closable;
  }

  after(end: () => unknown): void {
    this.#ends.unshift(end);
  }

  async end(): Promise<void> {
    this.#stop.abort();
    for (const end of this.#ends.splice(0)) await end();
  }

  trust(volume: Volume, options: TrustOptions = {}) {
    return openTrust(volume.path('ca.crt'), { ...this.follow, ...options });
  }

  identity(volume: Volume, options: FollowOptions & { ca?: boolean } = {}) {
    const { ca = true, ...follow } = options;
    return openIdentity(
      {
        cert: volume.path('tls.crt'),
        key: volume.path('tls.key'),
        ...(ca ? { ca: volume.path('ca.crt') } : {}),
      },
      { ...this.follow, ...follow },
    );
  }
}

/** Lets `ms` pass while a stream goes on: it says something in every minute. */
export const passing = async (
  clock: TestClock,
  ms: number,
  stream: { readonly count: () => number; readonly isCut: () => boolean },
): Promise<void> => {
  for (let left = ms; left > 0; left -= 60_000) {
    await clock.advance(Math.min(left, 60_000));
    const before = stream.count();
    await eventually(() => stream.isCut() || stream.count() > before);
  }
};

export const files = ({ cert, key }: Leaf, ...trusted: MockCa[]) => ({
  'tls.crt': cert,
  'tls.key': key,
  'ca.crt': trusted.map(({ pem }) => pem).join(''),
});

interface Events {
  reloaded: ReloadedEvent;
  kept: KeptEvent;
}

/** The next event of that name. */
export const next = <Name extends keyof Events>(
  source: Pick<Trust, 'on'> | Pick<Identity, 'on'>,
  name: Name,
): Promise<Events[Name]> => new Promise((resolve) => (source as Pick<Trust, 'on'>).on(name, resolve));
