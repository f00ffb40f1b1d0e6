import { connect, type Kube } from '@handover/kube';
import { FakeApiServer } from '@handover/test-api-server';
import { afterAll, beforeAll } from 'vitest';
import { contentsAreBytes } from '../../test/contents.ts';

const end = new AbortController();
let server: FakeApiServer;
let kube: Kube;
beforeAll(async () => {
  server = await FakeApiServer.start();
  kube = connect(server.config, { signal: end.signal, rate: false });
});
afterAll(async () => {
  end.abort();
  await server.stop();
});

contentsAreBytes(() => kube);
