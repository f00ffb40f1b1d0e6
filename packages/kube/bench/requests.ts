import { CoreV1Api, KubeConfig } from '@kubernetes/client-node';
import { type Kube, secrets } from '../src/index.ts';
import { type Figure, quantile, rate } from './figures.ts';

const ROUNDS = 12;

/**
 * GETs of one Secret per second, ours and client-node's, against the same server. Both take turns, and who goes first
 * changes, so that a neighbour on the machine disturbs both alike; what counts is the median of the rounds' ratios.
 */
export async function requests(kube: Kube, kubeconfig: string): Promise<Figure[]> {
  const name = 'bench';
  const namespace = 'default';
  await kube.create(secrets, { metadata: { name, namespace }, stringData: { value: 'x'.repeat(1024) } });
  const config = new KubeConfig();
  config.loadFromFile(kubeconfig);
  const theirs = config.makeApiClient(CoreV1Api);
  const figures: Figure[] = [];
  for (const [how, width, counts, least] of [
    ['sequential', 1, [40, 300], 5],
    ['16-way', 16, [160, 1600], 8],
  ] as const) {
    const base = () => rate(counts[0], width, () => theirs.readNamespacedSecret({ name, namespace }));
    const ours = () => rate(counts[1], width, () => kube.get(secrets, { namespace, name }));
    await base();
    await ours();
    const rounds: { base: number; ours: number }[] = [];
    for (let round = 0; round < ROUNDS; round++) {
      if (round % 2 === 0) {
        const first = await base();
        rounds.push({ base: first, ours: await ours() });
      } else {
        const first = await ours();
        rounds.push({ base: await base(), ours: first });
      }
    }
    const ratios = rounds.map((round) => round.ours / round.base);
    const middle = (values: readonly number[]) => Math.round(quantile(values, 0.5));
    figures.push({
      name: `${how} GETs: ours ÷ client-node 1.4.0`,
      value: quantile(ratios, 0.5),
      unit: '×',
      bound: { least },
      note: `${middle(rounds.map((r) => r.ours))}/s against ${middle(rounds.map((r) => r.base))}/s; rounds from ${Math.min(...ratios).toFixed(1)} to ${Math.max(...ratios).toFixed(1)} ×`,
    });
  }
  return figures;
}
