import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { connect, getCiphers, type SecureVersion } from 'node:tls';
import { freePort, temporaryFolder } from '@handover/test-api-server';
import { describe, expect, it } from 'vitest';
import { OFTEN_MISSING, resolveTlsProfile, tlsProfileFiles } from '../../src/index.ts';
import { authority, leafOf } from '../mock-ca.ts';

// The files for other programs, given to the programs themselves.
const folder = temporaryFolder();
const at = (name: string, text?: string): string => {
  const path = join(folder, name);
  if (text !== undefined) writeFileSync(path, text);
  return path;
};

const far = { notAfter: Date.UTC(2100, 0, 1) };
const leaf = leafOf(authority('ca', far), 'localhost', { dns: ['localhost'], ...far });
const cert = at('tls.crt', leaf.certificate.pem);
const key = at('tls.key', leaf.key.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString());
const support = { ciphers: getCiphers(), groups: ['X25519', 'P-256', 'P-384'], elsewhere: OFTEN_MISSING };
const filesOf = (type: string, custom?: { readonly ciphers: readonly string[] }) =>
  tlsProfileFiles(resolveTlsProfile({ type, custom }, support));

/** The protocol that a client limited to one version ends up with. */
const protocolAt = (port: number, version: SecureVersion): Promise<string> =>
  new Promise((resolve, reject) => {
    const socket = connect({
      port,
      host: '127.0.0.1',
      rejectUnauthorized: false,
      minVersion: version,
      maxVersion: version,
      ciphers: 'ALL:@SECLEVEL=0',
    });
    const end = (result: string): void => {
      socket.destroy();
      resolve(result);
    };
    socket.on('secureConnect', () => end(`${socket.getProtocol()} ${socket.getCipher().standardName}`));
    // A refused connection is not a refused version.
    socket.on('error', (error: NodeJS.ErrnoException) =>
      error.code === 'ECONNREFUSED' ? reject(error) : end('refused'),
    );
  });

const openSslServer = async (conf: string): Promise<{ port: number; stop: () => Promise<void> }> => {
  const port = await freePort();
  const child = spawn(
    'openssl',
    ['s_server', '-accept', `127.0.0.1:${port}`, '-cert', cert, '-key', key, '-www'],
    { env: { ...process.env, OPENSSL_CONF: at('openssl.cnf', conf) }, stdio: ['pipe', 'pipe', 'ignore'] },
  );
  const ended = once(child, 'exit');
  const accepts = new Promise<void>((resolve) => {
    let said = '';
    // It has more to say before it listens.
    child.stdout.on('data', (chunk) => {
      said += String(chunk);
      if (said.includes('ACCEPT')) resolve();
    });
  });
  await Promise.race([
    accepts,
    ended.then(() => {
      throw new Error('openssl s_server ended');
    }),
  ]);
  return {
    port,
    stop: async () => {
      child.kill();
      await ended;
    },
  };
};

describe('openssl.cnf', () => {
  it.each<[string, string, string, string]>([
    ['Old', 'TLSv1', 'TLSv1.2', 'TLSv1.3'],
    ['Intermediate', 'refused', 'TLSv1.2', 'TLSv1.3'],
    ['Modern', 'refused', 'refused', 'TLSv1.3'],
  ])('makes OpenSSL speak %s', async (type, first, second, third) => {
    const { port, stop } = await openSslServer(filesOf(type)['openssl.cnf']);
    const spoken = [];
    for (const version of ['TLSv1', 'TLSv1.2', 'TLSv1.3'] as const)
      spoken.push((await protocolAt(port, version)).split(' ')[0]);
    await stop();
    expect(spoken).toEqual([first, second, third]);
  });

  it('leaves nothing but what a Custom profile lists', async () => {
    const files = filesOf('Custom', { ciphers: ['ECDHE-ECDSA-AES256-GCM-SHA384', 'ALL'] });
    const { port, stop } = await openSslServer(files['openssl.cnf']);
    const spoken = [await protocolAt(port, 'TLSv1.2'), await protocolAt(port, 'TLSv1.3')];
    await stop();
    expect(spoken).toEqual(['TLSv1.2 TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384', 'refused']);
  });
});

describe('nginx.conf', () => {
  it.each(['Old', 'Intermediate', 'Modern'])('is taken by nginx: %s', (type) => {
    const fragment = at('fragment.conf', filesOf(type)['nginx.conf']);
    const whole = at(
      'whole.conf',
      `pid ${folder}/pid; error_log stderr; events {} http { access_log off;
       server { listen 127.0.0.1:1 ssl; ssl_certificate ${cert}; ssl_certificate_key ${key}; include ${fragment}; } }`,
    );
    expect(() =>
      execFileSync('nginx', ['-t', '-q', '-p', folder, '-c', whole], { stdio: 'pipe' }),
    ).not.toThrow();
  });
});
