import { contract } from '@handover/test-api-server/contract';
import { startCluster } from '@handover/test-cluster';
import { loadKubeConfig } from '../../src/index.ts';

contract('kube-apiserver', async () => {
  const cluster = await startCluster();
  return {
    config: await loadKubeConfig({ kubeconfig: cluster.kubeconfig }),
    // The API server keeps recent changes in memory, apart from etcd: a restart empties that memory.
    forget: async () => {
      await cluster.apiServer.stop();
      await cluster.apiServer.start();
    },
    stop: () => cluster.stop(),
  };
});
