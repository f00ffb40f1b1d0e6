import { execFileSync, spawn } from 'node:child_process';
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { dirname, join } from 'node:path';
import { connect, createServer } from 'node:tls';
import { freePort, PROGRAM } from '@handover/test-api-server';
import { expect, onTestFinished, test } from 'vitest';
import { directory, example, handover, rotatedTwice, started } from './around.ts';
import { program } from './programs.ts';

interface Made {
  readonly certificate: string;
  readonly key: string;
}

const openssl = (dir: string, ...args: readonly string[]): void => {
  execFileSync('openssl', args, { cwd: dir, stdio: 'ignore' });
};

/** A root as openssl users make it; `key` writes the private key in one of its forms. */
const byOpenssl =
  (key: readonly (readonly string[])[], constraints = 'critical,CA:TRUE') =>
  (dir: string): Made => {
    for (const args of key) openssl(dir, ...args);
    const extensions = [
      '-addext',
      `basicConstraints=${constraints}`,
      '-addext',
      'keyUsage=critical,keyCertSign,cRLSign',
    ];
    openssl(
      dir,
      'req',
      '-x509',
      '-new',
      '-key',
      'ca.key',
      '-out',
      'ca.crt',
      '-days',
      '900',
      '-subj',
      '/CN=Corp CA',
      ...extensions,
    );
    return { certificate: join(dir, 'ca.crt'), key: join(dir, 'ca.key') };
  };

const byEasyRsa = (dir: string): Made => {
  const easyrsa = program('easy-rsa');
  const env = {
    ...process.env,
    EASYRSA_PKI: join(dir, 'pki'),
    EASYRSA_BATCH: '1',
    EASYRSA_REQ_CN: 'Easy-RSA CA',
    EASYRSA: dirname(easyrsa),
  };
  for (const args of [['init-pki'], ['build-ca', 'nopass']])
    execFileSync(easyrsa, args, { cwd: dir, env, stdio: 'ignore' });
  return { certificate: join(dir, 'pki/ca.crt'), key: join(dir, 'pki/private/ca.key') };
};

const rsa = (bits: number) => ['genrsa', '-out', 'ca.key', String(bits)];
const KINDS: Readonly<Record<string, (dir: string) => Made>> = {
  'openssl, RSA 2048, PKCS#1': byOpenssl([['genrsa', '-traditional', '-out', 'ca.key', '2048']]),
  'openssl, RSA 3000, PKCS#8': byOpenssl([rsa(3000)]),
  'openssl, P-256, SEC 1 behind its parameters': byOpenssl([
    ['ecparam', '-name', 'prime256v1', '-genkey', '-out', 'ca.key'],
  ]),
  'openssl, P-384, path length 1 as step and Caddy give': byOpenssl(
    [['genpkey', '-algorithm', 'EC', '-pkeyopt', 'ec_paramgen_curve:P-384', '-out', 'ca.key']],
    'critical,CA:TRUE,pathlen:1',
  ),
  'easy-rsa': byEasyRsa,
};

/** A laptop's certificate, signed by the CA's owner with openssl before Handover knew the CA. */
const laptopOf = (dir: string, { certificate, key }: Made): Made => {
  openssl(dir, 'genrsa', '-out', 'laptop.key', '2048');
  openssl(dir, 'req', '-new', '-key', 'laptop.key', '-subj', '/CN=laptop', '-out', 'laptop.csr');
  const by = ['-CA', certificate, '-CAkey', key, '-set_serial', '7', '-days', '300'];
  openssl(dir, 'x509', '-req', '-in', 'laptop.csr', ...by, '-out', 'laptop.crt');
  return { certificate: join(dir, 'laptop.crt'), key: join(dir, 'laptop.key') };
};

/** What a server that trusts the bundle says of such a client: the name in its certificate. */
const welcomed = async (dir: string, laptop: Made): Promise<string> => {
  const file = (name: string): Buffer => readFileSync(join(dir, 'out/default/secrets/web', name));
  const options = { cert: file('tls.crt'), key: file('tls.key'), ca: file('ca.crt'), requestCert: true };
  const server = createServer(options, (socket) =>
    socket.end(String(socket.getPeerCertificate().subject.CN)),
  );
  onTestFinished(() => void server.close());
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return new Promise((resolve) => {
    const identity = { cert: readFileSync(laptop.certificate), key: readFileSync(laptop.key) };
    const socket = connect({
      port,
      host: '127.0.0.1',
      servername: 'localhost',
      ca: file('ca.crt'),
      ...identity,
    });
    let said = '';
    socket.on('data', (bytes) => (said += bytes));
    socket.on('error', (error) => resolve(error.message));
    socket.on('close', () => resolve(said));
  });
};

/** One handshake; undefined: success. */
const call = (port: number, ca: string | Buffer): Promise<string | undefined> =>
  new Promise((resolve) => {
    const socket = connect({ port, host: '127.0.0.1', servername: 'localhost', ca });
    const end = (problem?: string): void => {
      socket.destroy();
      resolve(problem);
    };
    socket.on('secureConnect', () => end());
    socket.on('error', (error: NodeJS.ErrnoException) => end(error.code ?? error.message));
  });

const home = async (edit = (yaml: string): string => yaml): Promise<{ dir: string; port: number }> => {
  const dir = directory();
  const port = await freePort();
  const local = (text: string): string =>
    text
      .replaceAll('/etc/handover', dir)
      .replaceAll('8443', String(port))
      .replace('/run/nginx.pid', `${dir}/nginx.pid`)
      .replace('reloadWithin: 3m', 'reloadWithin: 300ms')
      .replace('[nginx,', `[${program('nginx')},`);
  writeFileSync(join(dir, 'handover.yaml'), edit(local(example('nginx/handover.yaml'))), { mode: 0o644 });
  writeFileSync(join(dir, 'nginx.conf'), local(example('nginx/nginx.conf')), { mode: 0o644 });
  return { dir, port };
};
const serve = async (dir: string, port: number, ca: string): Promise<void> => {
  started(spawn(program('nginx'), ['-c', join(dir, 'nginx.conf'), '-g', 'daemon off;'], { stdio: 'ignore' }));
  await expect.poll(() => call(port, readFileSync(ca)), { timeout: 60_000 }).toBeUndefined();
};
const adopt = (dir: string, { certificate, key }: Partial<Made>) =>
  handover(
    'adopt',
    'internal',
    '--certificate',
    certificate ?? '',
    ...(key === undefined ? [] : ['--key', key]),
    '--yes',
    '--home',
    `dir:${dir}`,
  );

test.each(Object.entries(KINDS))(
  '%s: adopted with its key and rotated away from, 0 failed',
  async (_kind, make) => {
    const { dir, port } = await home();
    const made = make(directory());
    const laptop = laptopOf(directory(), made);
    expect(await adopt(dir, made)).toMatchObject({ code: 0 });
    await handover('run', dir, '--once');
    const ca = join(dir, 'out/default/configmaps/internal-trust/ca.crt');
    // Programs that trusted the CA before go on without a change.
    await serve(dir, port, made.certificate);
    const old = readFileSync(made.certificate);
    const { codes, calls, problems } = await rotatedTwice(dir, () => call(port, readFileSync(ca)), ['away']);
    expect({ codes, problems }).toEqual({ codes: [0], problems: [] });
    expect(calls).toBeGreaterThan(20);
    // A client that knows only the adopted CA is led to the new one by the cross-certificate that the imported key signed.
    expect(await call(port, old)).toBeUndefined();
    // It stays trusted, without its key: it may have signed certificates that nothing here shows.
    expect(readFileSync(ca, 'utf8')).toContain(old.toString('utf8').trim().split('\n').at(-2));
    expect(await welcomed(dir, laptop)).toBe('laptop');
  },
);

test('mkcert: its path length is refused with its key, and without it the CA is replaced, 0 failed', async () => {
  const caRoot = directory();
  const { dir, port } = await home((yaml) =>
    yaml.replace(
      'metadata:\n  name: web',
      'metadata:\n  annotations: {handover.dev/adopt: "true"}\n  name: web',
    ),
  );
  const folder = join(dir, 'out/default/secrets/web');
  mkdirSync(folder, { recursive: true });
  execFileSync(
    program('mkcert'),
    ['-cert-file', join(folder, 'tls.crt'), '-key-file', join(folder, 'tls.key'), 'localhost', '127.0.0.1'],
    { env: { ...process.env, CAROOT: caRoot }, stdio: 'ignore' },
  );
  const made = { certificate: join(caRoot, 'rootCA.pem'), key: join(caRoot, 'rootCA-key.pem') };
  copyFileSync(made.certificate, join(folder, 'ca.crt'));
  await serve(dir, port, made.certificate);
  expect((await adopt(dir, made)).code).toBe(1);
  expect((await adopt(dir, { certificate: made.certificate })).code).toBe(0);
  started(spawn(process.execPath, [PROGRAM, 'run', dir], { stdio: 'ignore' }));
  const ca = join(folder, 'ca.crt');
  const { codes, calls, problems } = await rotatedTwice(dir, () => call(port, readFileSync(ca)));
  expect({ codes, problems }).toEqual({ codes: [0, 0], problems: [] });
  expect(calls).toBeGreaterThan(20);
});
