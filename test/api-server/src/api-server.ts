import { type ConnectOptions, connect, type Kube, namespaces } from '@handover/kube';
import type { Clock } from '@handover/material';
import { onTestFinished } from 'vitest';
import { FakeApiServer, type FakeApiServerOptions } from './fake-api-server.ts';
import { namespaceObject } from './namespace-object.ts';
import { TestClock } from './test-clock.ts';

export interface ApiServerOptions<C extends Clock = TestClock> extends Omit<FakeApiServerOptions, 'clock'> {
  /** Namespaces that are there from the start, besides `default` and `kube-system`. */
  readonly namespaces?: readonly string[];
  /** How the client connects; without a limit of requests a second unless told. */
  readonly client?: ConnectOptions;
  /** The time of server and client. Default: a clock of their own, which the test turns. */
  readonly clock?: C;
}

export interface ApiServer<C extends Clock = TestClock> {
  readonly server: FakeApiServer;
  readonly kube: Kube;
  readonly clock: C;
  /** Ends the client and what runs on it. */
  readonly stop: AbortController;
}

/** The small API server, a client, and a clock for both. Called in a test or `beforeEach`, they end with the test. */
export async function apiServer<C extends Clock = TestClock>(
  options: ApiServerOptions<C> = {},
): Promise<ApiServer<C>> {
  const { namespaces: names = [], client = {}, clock = new TestClock() as unknown as C, ...rest } = options;
  const server = await FakeApiServer.start({ ...rest, clock });
  const stop = new AbortController();
  onTestFinished(async () => {
    stop.abort();
    await server.stop();
  });
  const kube = connect(server.config, { signal: stop.signal, rate: false, clock, ...client });
  for (const name of names) await kube.create(namespaces, namespaceObject(name));
  return { server, kube, clock, stop };
}
