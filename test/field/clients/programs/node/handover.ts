import { inCluster } from '@handover/runtime/kubernetes';
import { report } from './report.ts';

const cluster = await inCluster();
await report(async (signal) => {
  const answer = await cluster.fetch('/version', { signal });
  await answer.text();
  if (!answer.ok) throw new Error(String(answer.status));
});
