import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { cacheFor } from './cache.ts';

const MODULE = 'github.com/envoyproxy/gateway';
const VERSION = 'v1.9.1';
/** As in a go.sum; to raise the version take it from `go mod download -json`. */
const SUM = 'h1:vAVp6/AlBXJ1aOhp1mxL7fNEzVEfjADUguUhm2wzxQY=';

export const envoyGatewayVersion = (): string => VERSION.slice(1);

const go = (args: readonly string[], cwd: string): string => {
  // Static, so that it also runs inside an image without libraries. Niced, because it takes minutes on every core.
  const env = { ...process.env, CGO_ENABLED: '0', GOWORK: 'off' };
  const { status, stdout, stderr, error } = spawnSync('nice', ['go', ...args], {
    cwd,
    env,
    encoding: 'utf8',
    maxBuffer: 64 * 1024 * 1024,
  });
  if (status === 0) return stdout;
  const told = error?.message ?? stderr.trim().split('\n').at(-1);
  throw new Error(
    `FIELD_NO_ENVOY_GATEWAY: ${MODULE} ${VERSION} is not in the cache and could not be built (${told}); ` +
      'install Go 1.26 or newer and make its module proxy reachable, then run this again',
  );
};

/** Its sources in the module cache; read-only. */
export const gatewaySource = (): string => {
  const folder = cacheFor('envoy-gateway', VERSION, SUM);
  mkdirSync(folder, { recursive: true });
  const { Dir, Sum } = JSON.parse(go(['mod', 'download', '-json', `${MODULE}@${VERSION}`], folder)) as {
    readonly Dir: string;
    readonly Sum: string;
  };
  if (Sum !== SUM)
    throw new Error(`FIELD_NO_ENVOY_GATEWAY: ${MODULE} ${VERSION} has hash ${Sum}, not ${SUM}`);
  return Dir;
};

/** Path of `envoy-gateway` at its pinned version: from the cache, else built once in its own module; cold some ten minutes. */
export const findEnvoyGateway = (): string => {
  const folder = cacheFor('envoy-gateway', VERSION, SUM);
  const program = join(folder, 'envoy-gateway');
  if (existsSync(program)) return program;
  const source = gatewaySource();
  const partial = join(folder, `.build.${process.pid}`);
  try {
    const flags = ['-mod=readonly', '-trimpath', '-ldflags', '-s -w'];
    go(['build', ...flags, '-o', partial, './cmd/envoy-gateway'], source);
    renameSync(partial, program);
  } finally {
    rmSync(partial, { force: true });
  }
  return program;
};
