import { type ConfigMap, configMaps, Informer, type WatchEvent } from '@handover/kube';
import { beforeEach, describe, expect, test } from 'vitest';
import { codeOf, eventually } from '../src/eventually.ts';
import type { Scene } from './scene.ts';

/** Watches, and the informer over them. */
export function watches(scene: () => Scene): void {
  let { kube, namespace, server, make } = {} as Scene;
  beforeEach(() => {
    ({ kube, namespace, server, make } = scene());
  });

  describe('watches', () => {
    const watched = async (which: object, act: () => Promise<unknown>, enough: number) => {
      const seen: WatchEvent<ConfigMap>[] = [];
      const own = new AbortController();
      const watching = kube
        .watch(configMaps, { namespace, ...which }, (event) => seen.push(event), { signal: own.signal })
        .catch(() => undefined);
      await act();
      await eventually(() => seen.filter(({ type }) => type !== 'BOOKMARK').length >= enough);
      own.abort();
      await watching;
      return seen;
    };
    /** Waits for its end, by the clock of the server. */
    const over = (watching: Promise<void>): Promise<void> => server.clock?.during(watching) ?? watching;
    const words = (events: readonly WatchEvent<ConfigMap>[]) =>
      events
        .filter(({ type }) => type !== 'BOOKMARK')
        .map(({ type, object }) => `${type} ${object.metadata.name}`)
        .filter((text) => !text.includes('kube-root-ca.crt'));

    test('a watch reports every change after a version, in order', async () => {
      const { metadata } = await make('a');
      const events = await watched(
        { resourceVersion: metadata.resourceVersion, fieldSelector: 'metadata.name!=kube-root-ca.crt' },
        async () => {
          await make('b');
          await kube.patch(configMaps, { namespace, name: 'a' }, { merge: { data: { x: '1' } } });
          await kube.delete(configMaps, { namespace, name: 'b' });
        },
        3,
      );
      expect(words(events)).toEqual(['ADDED b', 'MODIFIED a', 'DELETED b']);
      const versions = events.map(({ object }) => Number(object.metadata.resourceVersion));
      expect(versions).toEqual([...versions].sort((x, y) => x - y));
    });

    test('an object enters and leaves a selection', async () => {
      const { metadata } = await make('a', {}, { part: 'x' });
      const which = { namespace, name: 'a' };
      const relabel = (part: string) =>
        kube.patch(configMaps, which, { merge: { metadata: { labels: { part } } } });
      const events = await watched(
        { resourceVersion: metadata.resourceVersion, labelSelector: 'part=y' },
        async () => {
          await relabel('y');
          await relabel('z');
        },
        2,
      );
      expect(words(events)).toEqual(['ADDED a', 'DELETED a']);
    });

    test('a watch begins with all existing objects when asked, and marks their end', async () => {
      await make('a');
      const seen: string[] = [];
      const own = new AbortController();
      const watching = kube
        .watch(
          configMaps,
          { namespace, sendInitialEvents: true, fieldSelector: 'metadata.name!=kube-root-ca.crt' },
          ({ type, object }) => {
            const end = object.metadata.annotations?.['k8s.io/initial-events-end'] === 'true';
            seen.push(end ? 'END' : `${type} ${object.metadata.name}`);
            if (end) own.abort();
          },
          { signal: own.signal },
        )
        .catch(() => undefined);
      await watching;
      expect(seen).toEqual(['ADDED a', 'END']);
    });

    test('a watch may send metadata only', async () => {
      const { metadata } = await make('a', { x: '1' });
      const events = await watched(
        { resourceVersion: metadata.resourceVersion, metadataOnly: true, labelSelector: 'in=test' },
        () => make('b', { x: '1' }, { in: 'test' }),
        1,
      );
      expect(words(events)).toEqual(['ADDED b']);
      expect(events[0]?.object.data).toBeUndefined();
    });

    test('a watch from a forgotten version is gone', async () => {
      const { metadata } = await make('a');
      await make('b');
      await server.forget();
      const { resourceVersion } = metadata;
      const gone = kube.watch(configMaps, { namespace, resourceVersion }, () => undefined, { lifetime: 5 });
      expect(await codeOf(gone)).toBe('KUBE_GONE');
    });

    test('a watch ends when its lifetime is over', async () => {
      const { metadata } = await make('a');
      const which = { namespace, resourceVersion: metadata.resourceVersion, labelSelector: 'none=here' };
      await over(kube.watch(configMaps, which, () => undefined, { lifetime: 1 }));
    });

    test('a watch ends without turning the server’s clock back', async () => {
      const { metadata } = await make('a');
      const which = { namespace, resourceVersion: metadata.resourceVersion, labelSelector: 'none=here' };
      const [shown = 0, from] = [kube.serverClock.now(), kube.clock.monotonic()];
      await over(kube.watch(configMaps, which, () => undefined, { lifetime: 3 }));
      const elapsed = kube.clock.monotonic() - from;
      // A watch carries the Date of its beginning.
      expect((kube.serverClock.now() ?? 0) - shown).toBeGreaterThanOrEqual(elapsed - 1_000);
    });
  });

  describe.each(['stream', 'pages'] as const)('an informer that lists by %s', (lists) => {
    test('an informer equals the list, and follows', async () => {
      for (const name of ['a', 'b', 'c']) await make(name, { x: name }, { in: 'test' });
      const own = new AbortController();
      const informer = new Informer<ConfigMap, string>(kube, configMaps, {
        namespace,
        labelSelector: 'in=test',
        project: ({ data }) => data?.x,
        indexes: { value: (value) => [value] },
        lists,
      });
      const changes: string[] = [];
      informer.on('changed', ({ key, before, after }) =>
        changes.push(`${key.split('/')[1]} ${before}→${after}`),
      );
      informer.start(own.signal);
      await informer.ready;
      expect(informer.list().sort()).toEqual(['a', 'b', 'c']);
      expect(informer.get(`${namespace}/b`)).toBe('b');
      expect(changes).toHaveLength(3);
      await kube.patch(configMaps, { namespace, name: 'b' }, { merge: { data: { x: 'B' } } });
      await make('d', { x: 'd' }, { in: 'test' });
      await kube.delete(configMaps, { namespace, name: 'a' });
      await eventually(() => changes.length === 6);
      expect(changes.slice(3)).toEqual(['b b→B', 'd undefined→d', 'a a→undefined']);
      expect(informer.by('value', 'B')).toEqual(['B']);
      expect(informer.by('value', 'b')).toEqual([]);
      own.abort();
    });
  });
}
