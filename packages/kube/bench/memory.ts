import { readFileSync } from 'node:fs';

/** A process of its own: `memory.mjs bare` or `memory.mjs informer KUBECONFIG`. Prints its memory in MB. */
const kilobytes = (field: string): number =>
  Number(new RegExp(`^${field}:\\s+(\\d+)`, 'm').exec(readFileSync('/proc/self/status', 'utf8'))?.[1]);

const [what, kubeconfig] = process.argv.slice(2);
let objects = 0;
let keep: unknown;
if (what === 'informer') {
  const { connect, Informer, loadKubeConfig, secrets } = await import('../src/index.ts');
  const kube = connect(await loadKubeConfig({ kubeconfig }));
  const informer = new Informer(kube, secrets, { namespace: 'bench', metadataOnly: true }).start();
  await informer.ready;
  objects = informer.size;
  keep = informer;
}
// Memory after a while, without a forced collection: a real process has none either.
await new Promise((resolve) => setTimeout(resolve, 5_000));
const figures = { rss: kilobytes('VmRSS') / 1024, peak: kilobytes('VmHWM') / 1024, objects };
process.stdout.write(`${JSON.stringify(figures)}\n`, () => process.exit(keep === undefined ? 0 : 0));
