import { execFileSync } from 'node:child_process';
import { copyFileSync, mkdirSync, realpathSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { directory } from './around.ts';
import { program } from './programs.ts';

/** Debian's nginx with a shell and `sleep`, and nothing else: what the image `nginx:1` has of them. */
export const nginxImage = (): string => {
  const rootfs = directory();
  const put = (from: string, to = from): void => {
    mkdirSync(dirname(join(rootfs, to)), { recursive: true });
    copyFileSync(realpathSync(from), join(rootfs, to));
  };
  for (const [from, to] of [
    [program('nginx'), '/usr/sbin/nginx'],
    ['/bin/sh', '/bin/sh'],
    ['/bin/sleep', '/bin/sleep'],
  ] as const) {
    put(from, to);
    const loaded = execFileSync(from, [], { env: { LD_TRACE_LOADED_OBJECTS: '1' }, encoding: 'utf8' });
    for (const [, path = ''] of loaded.matchAll(/(?:=>\s*|^\s*)(\/\S+)\s+\(/gm)) put(path);
  }
  for (const name of ['nginx.conf', 'mime.types']) put(`/etc/nginx/${name}`);
  for (const name of ['dev', 'proc', 'sys', 'run', 'etc/nginx/conf.d', 'var/log/nginx', 'var/lib/nginx'])
    mkdirSync(join(rootfs, name), { recursive: true });
  writeFileSync(
    join(rootfs, 'etc/passwd'),
    'root:x:0:0::/:/bin/sh\nwww-data:x:33:33::/:/bin/sh\nnobody:x:65534:65534::/:/bin/sh\n',
  );
  writeFileSync(join(rootfs, 'etc/group'), 'root:x:0:\nwww-data:x:33:\nnogroup:x:65534:\n');
  return rootfs;
};
