import { createHash } from 'node:crypto';
import { closeSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { TarWriter } from './tar.ts';

/** One layer: path → content. Paths have no leading slash. */
export type Layer = (tar: TarWriter) => void;

export interface ImageSpec {
  /** `localhost/app:1`: nodes pull no image, so pods set `imagePullPolicy: Never`. */
  readonly name: string;
  readonly layers: readonly Layer[];
  readonly entrypoint?: readonly string[];
  /** Default arguments of the container. */
  readonly command?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  readonly workingDirectory?: string;
  /** `65532:65532`; undefined: root. */
  readonly user?: string;
  readonly labels?: Readonly<Record<string, string>>;
}

const ARCHITECTURES: Readonly<Record<string, string>> = { x64: 'amd64', arm64: 'arm64' };

const writeTar = (path: string, fill: Layer): string => {
  const hash = createHash('sha256');
  const file = openSync(path, 'w');
  try {
    const tar = new TarWriter((bytes) => {
      hash.update(bytes);
      for (let at = 0; at < bytes.byteLength; ) at += writeSync(file, bytes, at);
    });
    fill(tar);
    tar.end();
  } finally {
    closeSync(file);
  }
  return hash.digest('hex');
};

const json = (value: unknown): Uint8Array => Buffer.from(JSON.stringify(value));

/** Writes an image as `docker save` would (Docker Image Specification v1.2), for `ctr images import`. */
export function writeImage(path: string, scratch: string, image: ImageSpec): void {
  const directory = mkdtempSync(join(scratch, 'image-'));
  try {
    const layers = image.layers.map((fill, index) => {
      const file = join(directory, `${index}.tar`);
      return { file, digest: writeTar(file, fill) };
    });
    const config = json({
      architecture: ARCHITECTURES[process.arch] ?? process.arch,
      os: 'linux',
      config: {
        Env: Object.entries({ PATH: '/usr/local/bin:/usr/bin:/bin', ...image.env }).map(
          ([k, v]) => `${k}=${v}`,
        ),
        Entrypoint: image.entrypoint ?? null,
        ...(image.command === undefined ? {} : { Cmd: image.command }),
        ...(image.user === undefined ? {} : { User: image.user }),
        ...(image.labels === undefined ? {} : { Labels: image.labels }),
        WorkingDir: image.workingDirectory ?? '/',
      },
      rootfs: { type: 'layers', diff_ids: layers.map(({ digest }) => `sha256:${digest}`) },
      history: layers.map(() => ({ created: '1970-01-01T00:00:00Z' })),
    });
    const id = createHash('sha256').update(config).digest('hex');
    writeTar(path, (tar) => {
      tar.bytes(`${id}.json`, config);
      for (const { file, digest } of layers) tar.add(`${digest}/layer.tar`, file);
      const files = layers.map(({ digest }) => `${digest}/layer.tar`);
      tar.bytes('manifest.json', json([{ Config: `${id}.json`, RepoTags: [image.name], Layers: files }]));
    });
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}
