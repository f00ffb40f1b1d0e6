export { type InCluster, type InClusterOptions, inCluster } from './in-cluster.ts';
export {
  type HotKubeConfigOptions,
  hotKubeConfig,
  type KubeConfigLike,
  kubeConfigSources,
} from './kube-config.ts';
