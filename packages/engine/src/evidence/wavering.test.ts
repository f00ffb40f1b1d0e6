import { writeFileSync } from 'node:fs';
import { createServer as createHttpServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { createServer, type Server } from 'node:tls';
import { temporaryFolder } from '@handover/test-api-server';
import { expect, onTestFinished, test } from 'vitest';
import { documentOf, MESH_ID, MeshHomes, pairOf, pass, recordOf, secret } from '../../test/mesh-home.ts';
import type { DirectoryHome } from '../index.ts';
import { Wavering } from './wavering.ts';

const homes = new MeshHomes();
const { clock } = homes;
const WITHIN_MS = 20_000;

const listening = async (server: Server | ReturnType<typeof createHttpServer>): Promise<string> => {
  onTestFinished(() => void server.close());
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
};

const waits = async (home: DirectoryHome) => {
  const { plan } = await pass(home);
  return [plan.phase, ...plan.blockedBy.map(({ consumer, waitsFor }) => `${consumer} ${waitsFor}`)];
};

/** A rotation that waits for one consumer at least, so that the other is looked at often: it waits for a leaf of the new CA. */
const begin = async (consumer: (address: string) => string, address: string) => {
  const file = join(temporaryFolder(), 'other.json');
  const other = `{name: other, presents: true, verifies: true, leaf: b, status: {file: ${file}}}`;
  const home = homes.mesh(`${consumer(address)}, ${other}`);
  const confirm = () => writeFileSync(file, documentOf(home, 'b'));
  await pass(home);
  confirm();
  return { home, confirm };
};
const rotate = (home: DirectoryHome) => home.requests.ask({ authority: MESH_ID, rotate: 'r' });

test('A server that showed its old leaf after the new one has a process that is behind, until reloadWithin has passed without another', async () => {
  const server = createServer();
  const address = await listening(server);
  const { home, confirm } = await begin(
    (at) => `{name: web, presents: true, leaf: a, probe: {address: "${at}"}}`,
    address,
  );
  const old = pairOf(home, 'a');
  server.setSecureContext(old);
  await rotate(home);
  await pass(home);
  homes.later(30_000);
  confirm();
  await pass(home);
  const renewed = pairOf(home, 'a');
  expect(renewed.cert).not.toBe(old.cert);
  for (const shown of [renewed, old, renewed]) {
    server.setSecureContext(shown);
    expect((await waits(home))[0]).toBe('Activating');
  }
  confirm();
  const [phase, ...blocked] = await waits(home);
  expect(phase).toBe('Activating');
  expect(blocked).toEqual([
    expect.stringMatching(/^web to load a leaf of CA generation 2 \(its answers differ/),
  ]);
  await clock.advance(WITHIN_MS);
  confirm();
  expect(await waits(home)).toEqual(['Stable']);
});

test('A server that goes over to its new leaf once does not wait for reloadWithin', async () => {
  const server = createServer();
  const address = await listening(server);
  const { home, confirm } = await begin(
    (at) => `{name: web, presents: true, leaf: a, probe: {address: "${at}"}}`,
    address,
  );
  server.setSecureContext(pairOf(home, 'a'));
  await rotate(home);
  await pass(home);
  homes.later(30_000);
  confirm();
  await pass(home);
  server.setSecureContext(pairOf(home, 'a'));
  await pass(home);
  confirm();
  expect(await waits(home)).toEqual(['Stable']);
});

test('A status URL behind which processes answer by turns holds up a rotation by the one that is behind', async () => {
  let answer = '';
  const address = await listening(createHttpServer((_, response) => void response.end(answer)));
  const { home, confirm } = await begin(
    (at) => `{name: web, presents: true, verifies: true, leaf: a, status: {url: "http://${at}/"}}`,
    address,
  );
  const old = documentOf(home, 'a');
  answer = old;
  await rotate(home);
  await pass(home);
  const renewed = documentOf(home, 'a');
  for (const shown of [renewed, old, renewed]) {
    answer = shown;
    expect((await waits(home))[0]).toBe('Introducing');
  }
  confirm();
  const [phase, ...blocked] = await waits(home);
  expect(phase).toBe('Introducing');
  expect(blocked).toEqual([expect.stringMatching(/^web to load CA generation 2 \(its answers differ/)]);
  await clock.advance(WITHIN_MS);
  confirm();
  answer = documentOf(home, 'a');
  expect((await waits(home))[0]).toBe('Activating');
});

test.each(['leaf', 'trust'] as const)(
  'A server that shows old and new %s within one look has a process that is behind, though every later handshake shows the new',
  async (about) => {
    const options = about === 'trust' ? { requestCert: true, rejectUnauthorized: true } : {};
    const server = createServer(options, (socket) => socket.on('error', () => {}));
    server.on('tlsClientError', () => {});
    const address = await listening(server);
    const { home, confirm } = await begin(
      (at) =>
        about === 'trust'
          ? `{name: web, presents: true, verifies: true, leaf: a, probe: {address: "${at}", mtls: true}}`
          : `{name: web, presents: true, leaf: a, probe: {address: "${at}"}}`,
      address,
    );
    const material = () => ({ ...pairOf(home, 'a'), ca: secret(home, 'a', 'ca.crt') });
    const old = material();
    server.setSecureContext(old);
    await rotate(home);
    await pass(home);
    if (about === 'leaf') {
      homes.later(30_000);
      confirm();
      await pass(home);
    }
    const renewed = material();
    let connections = 0;
    // The next connection takes it: with mTLS every second one is that of a client of an unknown CA.
    const before = about === 'trust' ? 4 : 3;
    const mix = () => server.setSecureContext(connections++ === before ? old : renewed);
    server.on('connection', mix);
    const [phase] = await waits(home);
    server.off('connection', mix);
    server.setSecureContext(renewed);
    confirm();
    expect(await waits(home)).toEqual([
      phase,
      expect.stringMatching(/^web to load (?:a leaf of )?CA generation 2 \(its answers differ/),
    ]);
    await clock.advance(WITHIN_MS);
    confirm();
    expect((await waits(home))[0]).not.toBe(phase);
  },
);

test('A CA that one process still trusts is neither in use everywhere nor gone, and a reset says nothing of it', async () => {
  const home = homes.mesh('');
  await pass(home);
  const record = await recordOf(home);
  const [anchor = ''] = record.state.generations.flatMap(({ anchors }) =>
    anchors.map(({ fingerprint }) => fingerprint),
  );
  const wavering = new Wavering();
  const document = (anchors: readonly string[]) => ({
    proofs: [{ by: 'acknowledged', at: homes.now, anchors, complete: true } as const],
    unread: {},
  });
  const said = (anchors: readonly string[], at: number) =>
    wavering.weigh('a', document(anchors), record, WITHIN_MS, at).proofs[0];
  for (const anchors of [[], [anchor]]) expect(said(anchors, 0)).toMatchObject({ anchors });
  expect(said([], 0)).toMatchObject({ anchors: [anchor], refuses: [anchor] });
  expect(said([], WITHIN_MS - 1)).toMatchObject({ anchors: [anchor], refuses: [anchor] });
  expect(said([], WITHIN_MS)).toEqual(document([]).proofs[0]);
  const probed = (accepted: readonly string[]) => ({
    proofs: [
      { by: 'probed', at: homes.now, anchors: accepted, refuses: accepted.length ? [] : [anchor] } as const,
    ],
    unread: {},
    saw: { accepted, refused: [], issuers: [] },
  });
  for (const accepted of [[anchor], [], [anchor]])
    expect(wavering.weigh('b', probed(accepted), record, WITHIN_MS, 0)).toEqual(probed(accepted));
});
