import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { cacheFor } from './cache.ts';

const MODULE = 'github.com/envoyproxy/gateway';
const VERSION = 'v1.9.1';
/** As in a go.sum; to raise the version take it from `go mod download -json`. */
const SUM = 'h1:vAVp6/AlBXJ1aOhp1mxL7fNEzVEfjADUguUhm2wzxQY=';

/** Of these packages its certgen needs one file each; the others would bring 1,500 packages more. */
const NEEDED = {
  'internal/cmd': 'certgen.go',
  'internal/infrastructure/host': 'paths.go',
  'internal/provider/kubernetes': 'secrets.go',
} as const;
const MAIN = `package main

import (
	"os"

	"${MODULE}/internal/cmd"
)

func main() {
	if cmd.GetCertGenCommand().Execute() != nil {
		os.Exit(1)
	}
}
`;

export const envoyGatewayVersion = (): string => VERSION.slice(1);

const go = (args: readonly string[], cwd: string): string => {
  // Static, so that it also runs inside an image without libraries. Niced, because it takes minutes on every core.
  const env = { ...process.env, CGO_ENABLED: '0', GOWORK: 'off' };
  const { status, stdout, stderr, error } = spawnSync('nice', ['go', ...args], {
    cwd,
    env,
    encoding: 'utf8',
  });
  if (status === 0) return stdout;
  const told = error?.message ?? stderr.trim().split('\n').at(-1);
  throw new Error(
    `FIELD_NO_ENVOY_GATEWAY: ${MODULE} ${VERSION} is not in the cache and could not be built (${told}); ` +
      'install Go 1.26 or newer and make its module proxy reachable, then run this again',
  );
};

const cache = (): string => cacheFor('envoy-gateway', VERSION, SUM, MAIN, JSON.stringify(NEEDED));

/** Its sources in the module cache; read-only. */
export const gatewaySource = (): string => {
  mkdirSync(cache(), { recursive: true });
  const { Dir, Sum } = JSON.parse(go(['mod', 'download', '-json', `${MODULE}@${VERSION}`], cache())) as {
    readonly Dir: string;
    readonly Sum: string;
  };
  if (Sum !== SUM)
    throw new Error(`FIELD_NO_ENVOY_GATEWAY: ${MODULE} ${VERSION} has hash ${Sum}, not ${SUM}`);
  return Dir;
};

const makeWritable = (folder: string): void => {
  chmodSync(folder, 0o755);
  for (const entry of readdirSync(folder, { withFileTypes: true }))
    if (entry.isDirectory()) makeWritable(join(folder, entry.name));
};

/** A copy of a folder of the module cache that can be changed. */
export const copyOf = (from: string, to: string): void => {
  cpSync(from, to, { recursive: true });
  makeWritable(to);
};

/**
 * Path of a program that is `envoy-gateway certgen` at its pinned version: from the cache, else built once, in its own module, from
 * its own command.
 */
export const findTheirCertgen = (): string => {
  const program = join(cache(), 'certgen');
  if (existsSync(program)) return program;
  const source = gatewaySource();
  const scratch = mkdtempSync(join(cache(), '.build-'));
  try {
    const module = join(scratch, 'module');
    mkdirSync(join(module, 'cmd/certgen'), { recursive: true });
    for (const part of ['api', 'internal']) copyOf(join(source, part), join(module, part));
    for (const part of ['go.mod', 'go.sum']) cpSync(join(source, part), join(module, part));
    for (const [folder, file] of Object.entries(NEEDED))
      for (const name of readdirSync(join(module, folder)))
        if (name.endsWith('.go') && name !== file) rmSync(join(module, folder, name));
    writeFileSync(join(module, 'cmd/certgen/main.go'), MAIN);
    const flags = ['-mod=readonly', '-trimpath', '-ldflags', '-s -w'];
    go(['build', ...flags, '-o', join(scratch, 'certgen'), './cmd/certgen'], module);
    renameSync(join(scratch, 'certgen'), program);
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
  return program;
};
