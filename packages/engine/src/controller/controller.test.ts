import { HandoverError } from '@handover/material';
import { TestClock } from '@handover/test-api-server';
import { expect, test } from 'vitest';
import { Controller, type ControllerEvent, type Key, keyText, type Reconcilers } from '../index.ts';

const MESH = { kind: 'Authority', id: 'shop/mesh' } as const;
const WEB = { kind: 'TLSProfile', id: 'shop/web' } as const;
const clock = new TestClock();
const DONE = { requeueAt: undefined };

const conflict = (): never => {
  throw new HandoverError('CONFLICT', 'shop/mesh changed meanwhile', { retry: 'now' });
};

/** Works with `reconcilers` until nothing is due; what was told. */
const run = async (reconcilers: Reconcilers, begin: (controller: Controller) => void) => {
  const told: ControllerEvent[] = [];
  const stop = new AbortController();
  const depth = { of: (): number => -1 };
  const controller = new Controller({
    clock,
    timers: clock,
    reconcilers,
    on: (event) => told.push(event),
    meters: {
      queue: (read) => {
        depth.of = () => read().due;
      },
    },
  });
  begin(controller);
  // Constructors only assign: the queue is measured from here on.
  expect(depth.of()).toBe(-1);
  const running = controller.run(stop.signal);
  await clock.advance(20);
  expect(depth.of()).toBe(0);
  stop.abort();
  await running;
  return { controller, told };
};

test('each key goes to the reconciler of its kind, and the same key twice is one pass', async () => {
  const passes: string[] = [];
  const note = async (key: Key) => {
    passes.push(keyText(key));
    return DONE;
  };
  await run({ Authority: note, TLSProfile: note, Drift: note }, (controller) => {
    controller.add([MESH, WEB, { ...MESH }]);
    controller.add([{ kind: 'Drift', of: MESH }]);
  });
  expect(passes.sort()).toEqual([
    'Authority shop/mesh',
    'TLSProfile shop/web',
    'drift under Authority shop/mesh',
  ]);
});

test('a resource that was deleted is not worked on any more, and its key is forgotten', async () => {
  const passes: string[] = [];
  const note = async ({ id }: { readonly id: string }) => {
    passes.push(id);
    return DONE;
  };
  let gone: readonly Key[] = [];
  await run({ Authority: note, TLSProfile: note }, (controller) => {
    controller.setDesiredKeys([MESH, WEB]);
    gone = controller.setDesiredKeys([WEB]);
  });
  expect(gone).toEqual([MESH]);
  expect(passes).toEqual(['shop/web']);
});

test('work counts as done once a pass found nothing to do, not after a step', async () => {
  let passes = 0;
  const { controller } = await run(
    {
      Authority: async () => ({ requeueAt: passes++ < 2 ? clock.now() : undefined, acted: passes < 3 }),
      TLSProfile: async () => ({ requeueAt: undefined, acted: true }),
    },
    (begun) => begun.add([MESH, WEB]),
  );
  expect(passes).toBe(3);
  expect(controller.hasDone(MESH)).toBe(true);
  expect(controller.hasDone(WEB)).toBe(false);
});

test('a resource that was deleted and created again is not done before a pass over it', async () => {
  const { controller } = await run({ Authority: async () => DONE }, (begun) => begun.setDesiredKeys([MESH]));
  expect(controller.hasDone(MESH)).toBe(true);
  controller.setDesiredKeys([]);
  controller.setDesiredKeys([MESH]);
  expect(controller.hasDone(MESH)).toBe(false);
});

test('five conflicts in a row are retried silently, and the sixth is a failure', async () => {
  let passes = 0;
  const races = (lost: number) => async () => (passes++ < lost ? conflict() : DONE);
  expect((await run({ Authority: races(5) }, (begun) => begun.add([MESH]))).told).toEqual([]);
  passes = 0;
  const { told } = await run({ Authority: races(6) }, (begun) => begun.add([MESH]));
  expect(told).toMatchObject([{ kind: 'failed', what: 'Authority shop/mesh', error: { code: 'CONFLICT' } }]);
});

test('objects that cannot be written are reported by name, and the pass still counts', async () => {
  const obstacle = new HandoverError('OBJECT_OBSTACLE', 'a file in the way', { path: 'shop/secrets/web' });
  const { controller, told } = await run(
    { Authority: async () => ({ requeueAt: undefined, obstacles: [obstacle] }) },
    (begun) => begun.add([MESH]),
  );
  expect(told).toMatchObject([{ kind: 'failed', what: 'shop/secrets/web', error: obstacle }]);
  expect(controller.hasDone(MESH)).toBe(true);
});
