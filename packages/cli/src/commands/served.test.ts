import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { createSecureContext } from 'node:tls';
import { generateKey, issueLeaf, localSigner } from '@handover/core';
import { encodePem, instant } from '@handover/material';
import { temporaryFolder } from '@handover/test-api-server';
import { expect, onTestFinished, test } from 'vitest';
import { ERROR_LINE, handover } from '../../test/capture.ts';
import { caOf } from '../../test/material.ts';
import { identity, tlsServer } from '../../test/tls-server.ts';

const folder = temporaryFolder({ inMemory: true });
let count = 0;
const file = (text: string): string => {
  const path = join(folder, `${++count}.pem`);
  writeFileSync(path, text);
  return path;
};
const [FROM, TO] = [Date.UTC(2021, 0, 1), Date.UTC(2045, 0, 1)];
const ca = await caOf(1, FROM, TO);
const pairOf = async (name: string, algorithm: 'ECDSA-P256' | 'RSA-2048' = 'ECDSA-P256', to = TO) => {
  const key = generateKey(algorithm);
  const der = await issueLeaf({
    issuer: ca.certificate,
    signer: localSigner(ca.key.privateKey),
    publicKey: key.publicKey,
    serial: Uint8Array.from({ length: 16 }, (_, n) => n + 2),
    subject: { commonName: name },
    dnsNames: [name],
    ipAddresses: [],
    uris: [],
    usages: ['server'],
    notBefore: instant(FROM),
    notAfter: instant(to),
  });
  return {
    key: key.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
    cert: encodePem('CERTIFICATE', der),
  };
};
const other = await pairOf('other.test');

const serving = async (options: Parameters<typeof tlsServer>[0] = {}) => {
  const { port, server } = await tlsServer(options);
  onTestFinished(() => void server.close());
  return { server, at: `127.0.0.1:${port}` };
};

test('served exits 0 where the port shows the first certificate of the file, with a key beside it or on standard input', async () => {
  const { at } = await serving();
  const said = `${at} shows it: web.mesh.svc, 127.0.0.1, serial `;
  for (const text of [identity.cert, `${identity.cert}${identity.key}`, `${identity.cert}${other.cert}`])
    expect(await handover(['served', at, '--certificate', file(text)])).toMatchObject({
      code: 0,
      stdout: expect.stringContaining(said),
      stderr: '',
    });
  expect(await handover(['served', at, '--certificate', '-'], { stdin: identity.cert })).toMatchObject({
    code: 0,
  });
});

test('served says in one line which other certificate the port shows, and exits 1', async () => {
  const { at } = await serving();
  const path = file(other.cert);
  const { code, stdout, stderr } = await handover(['served', at, '--certificate', path]);
  expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
  expect(stderr).toMatch(ERROR_LINE);
  expect(stderr).toContain(`NOT_SERVED: ${at} shows another certificate: web.mesh.svc, 127.0.0.1, serial `);
  expect(stderr).toContain(`make the server load ${path}, give it time with --wait 30s`);
  const json = await handover(['served', at, '--certificate', path, '--json']);
  expect(json.code).toBe(1);
  expect(JSON.parse(json.stdout)).toMatchObject({
    ok: false,
    server: at,
    expected: { names: ['other.test'] },
    servers: [{ address: '127.0.0.1', verdict: 'another', shows: { names: ['web.mesh.svc', '127.0.0.1'] } }],
  });
});

test('served asks for the name of --servername, where one port shows several certificates', async () => {
  const { at, server } = await serving();
  server.addContext('other.test', other);
  const path = file(other.cert);
  expect((await handover(['served', at, '--certificate', path])).code).toBe(1);
  expect((await handover(['served', at, '--certificate', path, '--servername', 'other.test'])).code).toBe(0);
});

test('served --wait goes on until the server has reloaded, and says once what it waits for', async () => {
  const { at, server } = await serving();
  const late = { ...(await pairOf('late.test')) };
  let connections = 0;
  server.on('connection', () => {
    if (++connections === 3) server.setSecureContext(late);
  });
  const path = file(late.cert);
  const { code, stdout, stderr } = await handover(['served', at, '--certificate', path, '--wait', '30s']);
  expect({ code }).toEqual({ code: 0 });
  expect(stdout).toContain('shows it: late.test');
  expect(stderr.match(/waiting: /g)).toHaveLength(1);
  expect(stderr).toContain(`waiting: ${at} shows another certificate: web.mesh.svc`);
});

test('served is not content with one handshake: an old worker that shows the old certificate counts', async () => {
  let handshakes = 0;
  const late = await pairOf('late.test');
  const [old, loaded] = [createSecureContext(identity), createSecureContext(late)];
  const { at } = await serving({
    SNICallback: (_, answer) => answer(null, ++handshakes % 4 === 0 ? old : loaded),
  });
  const asked = ['served', at, '--certificate', file(late.cert), '--servername', 'late.test'];
  const { code, stderr } = await handover(asked);
  expect(code).toBe(1);
  expect(stderr).toContain('shows another certificate: web.mesh.svc');
});

test('served asks a server with an RSA and an ECDSA certificate for the kind that the file holds', async () => {
  const rsa = await pairOf('both.test', 'RSA-2048');
  const ec = await pairOf('both.test');
  const { at } = await serving({ cert: [rsa.cert, ec.cert], key: [rsa.key, ec.key] });
  for (const { cert } of [rsa, ec])
    expect((await handover(['served', at, '--certificate', file(cert)])).code).toBe(0);
  const { at: onlyEc } = await serving(ec);
  const { stderr } = await handover(['served', onlyEc, '--certificate', file(rsa.cert)]);
  expect(stderr).toContain('shows another certificate: both.test');
});

test.each([
  ['nothing listens', async () => '127.0.0.1:1', /cannot be reached \(ECONNREFUSED\); check the address/],
  [
    'no TLS is spoken',
    () => plain('220 hello\r\n'),
    /does not speak TLS; check the address, the port and --starttls/,
  ],
  ['the name does not exist', async () => 'nothing.invalid:443', /has no address \((ENOTFOUND|EAI_AGAIN)\)/],
])('served exits 1 with the reason where %s', async (_, make, why) => {
  const { code, stderr } = await handover(['served', await make(), '--certificate', file(identity.cert)]);
  expect(code).toBe(1);
  expect(stderr).toMatch(ERROR_LINE);
  expect(stderr).toMatch(why);
});

const plain = async (greeting: string): Promise<string> => {
  const server = createServer((socket) => {
    socket.on('error', () => {});
    socket.end(greeting);
  }).listen(0, '127.0.0.1');
  onTestFinished(() => void server.close());
  await once(server, 'listening');
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
};

test('served starts TLS inside a protocol', async () => {
  const at = await plain('220 a\r\n');
  const { stderr } = await handover([
    'served',
    at,
    '--certificate',
    file(identity.cert),
    '--starttls',
    'ftp',
  ]);
  expect(stderr).toContain('closes the connection before ftp has started TLS');
});

test.each([
  ['a file that is not there', ['127.0.0.1:1', '--certificate', '/nowhere/x.pem'], 'FILE_MISSING'],
  ['no file', ['127.0.0.1:1'], 'USAGE'],
  ['no port', ['127.0.0.1', '--certificate', 'x.pem'], 'USAGE'],
  ['a wait without a unit', ['a:1', '--certificate', 'x.pem', '--wait', '30'], 'USAGE'],
])('served refuses %s in one line', async (_, args, code) => {
  const ran = await handover(['served', ...args]);
  expect(ran.stderr).toMatch(new RegExp(`^${code}: .*\n$`));
  expect(ran.code).toBe(code === 'USAGE' ? 2 : 1);
});

test('served does not call an expired certificate served', async () => {
  const expired = await pairOf('gone.test', 'ECDSA-P256', Date.UTC(2030, 0, 1));
  const { at } = await serving(expired);
  const { code, stderr } = await handover(['served', at, '--certificate', file(expired.cert)]);
  expect(code).toBe(1);
  expect(stderr).toContain('holds a certificate that expired at 2030-01-01T00:00:00Z; renew it');
});
