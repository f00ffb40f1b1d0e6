import { connect, type Kube } from '@handover/kube';
import { afterAll, beforeAll, beforeEach, describe } from 'vitest';
import { serverSideApply } from './apply.ts';
import { kinds } from './kinds.ts';
import { objects } from './objects.ts';
import { type ContractServer, type Scene, sceneOn } from './scene.ts';
import { watches } from './watches.ts';

/** What this code base relies on in an API server: the same for the server in this process and for kube-apiserver. */
export function contract(name: string, start: () => Promise<ContractServer>): void {
  describe(`the API contract on ${name}`, () => {
    const stop = new AbortController();
    let server: ContractServer;
    let kube: Kube;
    let scene: Scene;

    beforeAll(async () => {
      server = await start();
      const { clock } = server;
      kube = connect(server.config, {
        signal: stop.signal,
        rate: false,
        ...(clock === undefined ? {} : { clock }),
      });
    });
    afterAll(async () => {
      stop.abort();
      await server?.stop();
    });
    beforeEach(async () => {
      scene = await sceneOn(server, kube, stop.signal);
    });

    for (const part of [objects, serverSideApply, kinds, watches]) part(() => scene);
  });
}
