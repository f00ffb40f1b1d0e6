// node deploy/image/root.mjs PROGRAM FOLDER: lays out everything that is in the image of the operator, and nothing else: the Node that
// runs this, the libraries it loads, and the bundled program. The Dockerfile copies that folder; the cluster tests load it with their
// own image writer. No shell, no package manager, no CA certificates: the operator trusts what the cluster hands it.
import { execFileSync } from 'node:child_process';
import { chmodSync, copyFileSync, cpSync, mkdirSync, readdirSync, realpathSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';

const [program, folder] = process.argv.slice(2);
if (program === undefined || folder === undefined) {
  process.stderr.write('usage: node deploy/image/root.mjs PROGRAM FOLDER\n');
  process.exit(2);
}

const put = (from, to) => {
  const path = join(folder, to);
  mkdirSync(dirname(path), { recursive: true });
  copyFileSync(realpathSync(from), path);
};

// What a container runtime mounts over.
for (const name of ['dev', 'proc', 'sys', 'etc', 'tmp']) mkdirSync(join(folder, name), { recursive: true });

put(process.execPath, 'usr/local/bin/node');
// As ldd does, which is a script that a small image may lack: `name => path (address)`, and the linker itself bare.
const libraries = execFileSync(process.execPath, [], {
  env: { LD_TRACE_LOADED_OBJECTS: '1' },
  encoding: 'utf8',
});
for (const [, path] of libraries.matchAll(/(?:=>\s*|^\s*)(\/\S+)\s+\(/gm)) put(path, path);

// Of the published package what runs, and what has to go with it.
for (const name of ['bin', 'dist', 'package.json', 'LICENSE', 'THIRD-PARTY-LICENSES.txt', 'sbom.cdx.json'])
  cpSync(join(program, name), join(folder, 'handover', name), { recursive: true });

// The same on every build host; readable by all users, because no process in the image is root.
const level = (path) => {
  const isFolder = statSync(path).isDirectory();
  chmodSync(path, isFolder || statSync(path).mode & 0o100 ? 0o755 : 0o644);
  if (isFolder) for (const name of readdirSync(path)) level(join(path, name));
};
level(folder);
chmodSync(join(folder, 'tmp'), 0o1777);
