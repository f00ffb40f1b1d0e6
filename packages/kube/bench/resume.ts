import { request } from 'node:https';
import type { Cluster } from '@handover/test-cluster';
import { configMaps, Informer, type Kube } from '../src/index.ts';
import type { Figure } from './figures.ts';

const ROTATIONS = 5;

const isReady = (url: string): Promise<boolean> =>
  new Promise((resolve) => {
    const asking = request(
      `${url}/readyz`,
      { rejectUnauthorized: false, agent: false, timeout: 1_000 },
      (answer) => {
        answer.resume();
        resolve(answer.statusCode === 200);
      },
    );
    asking.once('error', () => resolve(false)).end();
  });

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

/** Time from the first `/readyz` that says ok until the informer has seen a later write. */
export async function resume(kube: Kube, cluster: Cluster): Promise<Figure[]> {
  const which = { namespace: 'default', name: 'resumed' };
  const write = (value: string) =>
    kube.patch(configMaps, which, {
      apply: { metadata: { name: 'resumed' }, data: { value } },
      fieldManager: 'bench',
      force: true,
    });
  const informer = new Informer(kube, configMaps, { namespace: 'default' }).start();
  await informer.ready;
  const took: number[] = [];
  const open: number[] = [];
  for (let rotation = 0; rotation < ROTATIONS; rotation++) {
    const { watches } = informer.state;
    const rotating = cluster.apiServer.rotateServingCa();
    while (await isReady(cluster.url)) await pause(5);
    while (!(await isReady(cluster.url))) await pause(10);
    const back = performance.now();
    open.push(informer.state.watches - watches);
    const value = String(rotation);
    while (
      await write(value).then(
        () => false,
        () => true,
      )
    )
      await pause(10);
    while (informer.get('default/resumed')?.data?.value !== value) await pause(1);
    took.push(performance.now() - back);
    await rotating;
  }
  informer.stop();
  const already = open.filter((count) => count > 0).length;
  return [
    {
      name: 'new serving CA, file swapped and server restarted: until the informer has seen a new write',
      value: Math.max(...took) / 1000,
      unit: 's',
      bound: { most: 2 },
      note: `worst of ${ROTATIONS} after /readyz is ok (${took.map((ms) => `${Math.round(ms)} ms`).join(', ')}); in ${already} of them the watch was open again before that`,
    },
  ];
}
