// Run after every `npm install` that changes the lock. A registry that mirrors only some platforms makes npm leave the
// optional packages of the others out of package-lock.json, and `npm ci` then refuses the lock on every machine. Their
// entries are put back: exact version and platform, as npm itself would write them.
import { readFileSync, writeFileSync } from 'node:fs';

const OS = {
  android: 'android',
  darwin: 'darwin',
  freebsd: 'freebsd',
  linux: 'linux',
  netbsd: 'netbsd',
  openbsd: 'openbsd',
};
Object.assign(OS, {
  openharmony: 'openharmony',
  sunos: 'sunos',
  win32: 'win32',
  aix: 'aix',
  fsevents: 'darwin',
});
const CPU = {
  arm64: 'arm64',
  x64: 'x64',
  ia32: 'ia32',
  arm: 'arm',
  armhf: 'arm',
  eabi: 'arm',
  gnueabihf: 'arm',
};
Object.assign(CPU, {
  loong64: 'loong64',
  mips64el: 'mips64el',
  ppc64: 'ppc64',
  ppc64le: 'ppc64',
  riscv64: 'riscv64',
  s390x: 's390x',
});
Object.assign(CPU, { wasm32: 'wasm32' });

const text = readFileSync('package-lock.json', 'utf8');
const lock = JSON.parse(text);
const added = [];
for (const entry of Object.values(lock.packages)) {
  for (const [name, range] of Object.entries(entry.optionalDependencies ?? {})) {
    const key = `node_modules/${name}`;
    if (lock.packages[key] !== undefined) continue;
    const words = name.split(/[/-]/);
    const os = words.map((word) => OS[word]).find(Boolean);
    const cpu = words.map((word) => CPU[word]).find(Boolean);
    const libc = words.includes('musl') ? 'musl' : words.includes('gnu') ? 'glibc' : undefined;
    lock.packages[key] = {
      version: range.replace(/^[\^~]/, ''),
      ...(cpu === undefined ? {} : { cpu: [cpu] }),
      dev: entry.dev,
      ...(libc === undefined ? {} : { libc: [libc] }),
      optional: true,
      ...(os === undefined ? {} : { os: [os] }),
    };
    added.push(name);
  }
}
const [root, ...rest] = Object.entries(lock.packages);
rest.sort(([a], [b]) => (a < b ? -1 : 1));
lock.packages = Object.fromEntries([root, ...rest]);
const completed = `${JSON.stringify(lock, null, 2)}\n`;
if (completed !== text) writeFileSync('package-lock.json', completed);
process.stdout.write(`${added.length} optional packages of other platforms added to package-lock.json\n`);
