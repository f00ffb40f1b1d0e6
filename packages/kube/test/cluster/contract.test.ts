import { startCluster } from '@handover/test-cluster';
import { loadKubeConfig } from '../../src/index.ts';
import { contract } from '../contract.ts';

contract('kube-apiserver', async () => {
  const cluster = await startCluster();
  return {
    config: await loadKubeConfig({ kubeconfig: cluster.kubeconfig }),
    // Its memory of changes is its own, and not etcd's.
    forget: async () => {
      await cluster.apiServer.stop();
      await cluster.apiServer.start();
    },
    stop: () => cluster.stop(),
  };
});
