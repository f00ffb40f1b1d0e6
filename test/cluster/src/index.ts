export type {
  ApiServer,
  AuditEvent,
  Cluster,
  ClusterOptions,
  NodeCluster,
  NodeImage,
  Size,
  TestNode,
} from './api.ts';
export { cainjectorVersion, findCainjector } from './cainjector.ts';
export { startCluster } from './cluster.ts';
export { findHelm } from './helm.ts';
export { writeImage } from './image/image.ts';
export { folderImage } from './node/nodes.ts';
export { type CertificateFiles, type LeafRequest, makeCa, type TestCa } from './pki.ts';
export { places } from './places.ts';
export { noNodeBecause } from './system-packages.ts';
