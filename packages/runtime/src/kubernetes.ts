export { type InCluster, type InClusterOptions, inCluster } from './kubernetes/in-cluster.ts';
export {
  type HotKubeConfigOptions,
  hotKubeConfig,
  type KubeConfigLike,
  kubeConfigSources,
} from './kubernetes/kube-config.ts';
