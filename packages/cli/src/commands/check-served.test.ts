import { X509Certificate } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { createServer as createPlainServer } from 'node:net';
import { join } from 'node:path';
import { day, instant, minute } from '@handover/material';
import { beforeEach, expect, onTestFinished, test } from 'vitest';
import { handover, NOW } from '../../test/capture.ts';
import { newHome } from '../../test/home.ts';
import { identity, tlsServer } from '../../test/tls-server.ts';

let dir: string;
let files: { cert: string; key: string };

const at = (ms: number, ...args: readonly string[]) =>
  handover([...args, '--home', `dir:${dir}`], { now: instant(NOW + ms) });
const check = async (ms = 0) => {
  const { code, stdout } = await at(ms, 'check');
  expect(stdout.trimEnd().split('\n')).toHaveLength(1);
  return { code, line: stdout.trimEnd() };
};
const pass = (ms = 0) => handover(['run', dir, '--once'], { now: instant(NOW + ms) });
const probing = (port: number): Promise<void> => declaring(`probe: {address: "127.0.0.1:${port}"}`);
const declaring = async (how: string): Promise<void> => {
  const file = join(dir, 'handover.yaml');
  const consumer = `{name: web, presents: true, leaf: web, ${how}}`;
  writeFileSync(
    file,
    readFileSync(file, 'utf8').replace('\nspec:\n', `\nspec:\n  consumers: [${consumer}]\n`),
  );
  expect((await pass()).code).toBe(0);
};
const servesFiles = async (): Promise<void> => {
  const { port, server } = await tlsServer(files);
  onTestFinished(() => void server.close());
  await probing(port);
};

beforeEach(async () => {
  dir = newHome();
  await handover(['init', dir]);
  await pass();
  const secret = join(dir, 'out/default/secrets/web');
  const text = (name: string) => readFileSync(join(secret, name), 'utf8');
  files = { cert: text('tls.crt'), key: text('tls.key') };
});

test('check says OK of a server that shows the leaf of its file, and status says which leaf that is', async () => {
  await servesFiles();
  expect(await check()).toMatchObject({ code: 0 });
  const { authorities } = JSON.parse((await at(0, 'status', '--json')).stdout);
  expect(authorities[0].consumers[0].shows).toMatchObject([
    { state: 'newest', wrong: false, generation: 1, object: 'default/secrets/web', reason: null },
  ]);
  expect((await at(0, 'status')).stdout).toMatch(
    /consumer web {2}probed at \S+\n {4}shows CA generation 1, localhost, 127\.0\.0\.1, until 2030-08-30T00:00:00\.000Z, since 2030-06-01T/,
  );
});

test('check names a server that goes on with an old leaf, once reloadWithin is over, and is critical when that leaf has expired', async () => {
  await servesFiles();
  expect((await pass(61 * day)).code).toBe(0);
  expect((await check(61 * day + minute)).code).toBe(0);
  expect(await check(61 * day + 10 * minute)).toMatchObject({
    code: 1,
    line: expect.stringMatching(
      /^HANDOVER WARNING - default\/internal: web shows CA generation 1, localhost, .*: older than that of default\/secrets\/web; it has not loaded its newest files: reload it, and declare the hook/,
    ),
  });
  expect(await check(91 * day)).toMatchObject({
    code: 2,
    line: expect.stringMatching(
      /^HANDOVER CRITICAL - default\/internal: web shows a certificate that expired at 2030-08-30T00:00:00\.000Z \(CA generation 1, localhost,/,
    ),
  });
  expect((await at(91 * day, 'status')).stdout).toContain('shows a certificate that expired');
});

test('check is critical over a server that shows a stranger’s certificate, and names the signer', async () => {
  const { port, server } = await tlsServer({});
  onTestFinished(() => void server.close());
  await probing(port);
  expect(await check()).toMatchObject({
    code: 2,
    line: expect.stringMatching(
      /web shows a certificate of a CA that this authority does not have \(CN=web, web\.mesh\.svc, 127\.0\.0\.1, signed by CN=mesh 1 \w+, until 2045-01-01/,
    ),
  });
});

test('check is critical over a server that is not there', async () => {
  await probing(1);
  expect(await check()).toMatchObject({
    code: 2,
    line: expect.stringContaining(
      'web shows no certificate: 127.0.0.1:1 cannot be reached (ECONNREFUSED); start it, or correct the address of its probe',
    ),
  });
  const { authorities } = JSON.parse((await at(0, 'status', '--json')).stdout);
  expect(authorities[0].consumers[0].shows).toMatchObject([{ state: 'unseen', reason: 'unreachable' }]);
});

test('check is critical over a server that does not speak TLS', async () => {
  const server = createPlainServer((socket) => {
    socket.on('error', () => {});
    socket.end('HTTP/1.1 400 Bad Request\r\n\r\n');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  await probing((server.address() as { port: number }).port);
  expect(await check()).toMatchObject({
    code: 2,
    line: expect.stringContaining('does not speak TLS; correct the address of its probe'),
  });
});

test('a rotation that waits for a server says what that server shows meanwhile', async () => {
  await servesFiles();
  await at(minute, 'rotate', 'internal', '--id', 'r1');
  await pass(20 * minute);
  await pass(40 * minute);
  const status = await at(50 * minute, 'status');
  expect(status.stdout).toMatch(
    /waiting for web to load a leaf of CA generation 2; it shows CA generation 1, localhost, 127\.0\.0\.1, until .*: older than that of default\/secrets\/web, since 2030-06-01T/,
  );
  const { authorities } = JSON.parse((await at(50 * minute, 'status', '--json')).stdout);
  expect(authorities[0].blockedBy).toEqual(
    expect.arrayContaining([expect.objectContaining({ shows: expect.stringContaining('generation 1') })]),
  );
});

test('check asks a server several times: one worker of three that shows a stranger’s certificate is found', async () => {
  const { port, server } = await tlsServer(files);
  onTestFinished(() => void server.close());
  await probing(port);
  let connections = 0;
  server.on('connection', () => server.setSecureContext(++connections % 3 === 0 ? identity : files));
  for (let asked = 0; asked < 3; asked++)
    expect(await check()).toMatchObject({ code: 2, line: expect.stringContaining('does not have (CN=web,') });
});

test.each([
  ['the certificate of the file', 'cat out/default/secrets/web/tls.crt', 0, 'OK'],
  [
    'a stranger’s certificate',
    'cat foreign.pem',
    2,
    'shows a certificate of a CA that this authority does not have (CN=web,',
  ],
  [
    'the fingerprint of a stranger’s certificate',
    `echo ${'ab'.repeat(32)}`,
    2,
    'shows a certificate of a CA that',
  ],
  ['nothing', 'true', 2, 'prints neither a certificate in PEM nor a SHA-256 fingerprint'],
  ['nothing and fails', 'false', 2, 'ended with 1'],
])('check judges what a probe command prints as what a server shows: %s', async (_, command, code, says) => {
  writeFileSync(join(dir, 'foreign.pem'), identity.cert);
  await declaring(`probe: {command: [sh, -c, "${command}"]}`);
  expect(await check()).toMatchObject({ code, line: expect.stringContaining(says) });
});

test.each([
  ['no CA', '[]'],
  ['other CAs only', `["${'ab'.repeat(32)}"]`],
])('check warns of a verifier that shows %s', async (_, anchors) => {
  const status = join(dir, 'status.json');
  const document = (at: number) => {
    const leaf = new X509Certificate(files.cert).fingerprint256;
    return `{"version":1,"at":"${new Date(at).toISOString()}","sources":[{"anchors":${anchors},"leaf":{"fingerprint":"${leaf}"}}]}`;
  };
  writeFileSync(status, document(NOW), { mode: 0o644 });
  await declaring('verifies: true, status: {file: status.json}');
  writeFileSync(status, document(NOW + 10 * minute), { mode: 0o644 });
  expect(await check(10 * minute)).toMatchObject({
    code: 1,
    line: expect.stringContaining('web shows that it does not trust CA generation 1'),
  });
});

test('check is critical over a server whose certificate is not for the name that its probe asks for', async () => {
  const { port, server } = await tlsServer(files);
  onTestFinished(() => void server.close());
  await declaring(`probe: {address: "127.0.0.1:${port}", serverName: radio.example}`);
  expect(await check()).toMatchObject({
    code: 2,
    line: expect.stringContaining('not for radio.example, which its probe asks for'),
  });
});
