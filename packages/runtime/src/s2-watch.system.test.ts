// Against: node:https, undici, fetch, gRPC, @kubernetes/client-node and inCluster().
import { mustTakeAtMost } from '@handover/test-api-server';
import { expect, test, vi } from 'vitest';
import { EVERY_CLIENT } from '../test/adapters.ts';
import { Scope } from '../test/fixture.ts';
import { MockCa } from '../test/mock-ca.ts';
import { eventually, ok, UNKNOWN_AUTHORITY, wordsOf } from '../test/world.ts';

// A handshake that fails would force a reload, and hide how long the watch takes.
vi.mock('./clients/fresh-trust.ts', () => ({
  withFreshTrust: (source: { current(): unknown }, attempt: (material: unknown) => unknown) =>
    attempt(source.current()),
}));

const SWAPS = 5;

test.each(EVERY_CLIENT)(
  'S2.1 by a real clock $name reaches a server that moved soon after the CA file was swapped',
  async (adapter) => {
    const scope = new Scope();
    const [one, two] = [new MockCa('one'), new MockCa('two')];
    const content = (ca: MockCa) => ({ 'ca.crt': ca.pem, token: 'token' });
    const volume = scope.volume(content(one));
    const target = scope.add(await adapter.serve(one));
    const client = await adapter.open(volume.path('ca.crt'), scope.follow);
    // Over a connection of its own: one that has failed may wait before it connects again.
    const get = () => (client.getAnew ?? client.get)(target);
    await get();
    for (let swap = 1; swap <= SWAPS; swap++) {
      const next = swap % 2 === 0 ? one : two;
      target.use(next.leaf());
      await eventually(async () => {
        target.cut();
        return UNKNOWN_AUTHORITY.test(await wordsOf(get()));
      });
      const began = performance.now();
      volume.write(content(next));
      await eventually(() => ok(get()));
      mustTakeAtMost('S2.1', performance.now() - began);
    }
    expect(target.handshakes()).toBeGreaterThan(SWAPS);
  },
);
