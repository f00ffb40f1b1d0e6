import { execFileSync } from 'node:child_process';
import { realpathSync } from 'node:fs';
import type { NodeCluster } from '@handover/test-cluster';
import { findEnvoy } from '../src/envoy.ts';

/** Envoy with the libraries that its dynamic linker loads: `ldd` prints `name => path (address)`, and the linker itself bare. */
export const loadEnvoy = (cluster: NodeCluster): Promise<string> => {
  const program = findEnvoy();
  const files: Record<string, string> = { '/usr/local/bin/envoy': program };
  const libraries = execFileSync('ldd', [program], { encoding: 'utf8' });
  for (const [, path = ''] of libraries.matchAll(/(?:=>\s*|^\s*)(\/\S+)\s+\(/gm))
    files[path] = realpathSync(path);
  return cluster.node.loadImage({ name: 'localhost/envoy:1', base: 'empty', files });
};
