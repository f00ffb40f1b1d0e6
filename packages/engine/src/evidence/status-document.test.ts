import { writeFileSync } from 'node:fs';
import { createServer as createHttpServer } from 'node:http';
import { join } from 'node:path';
import { instant, parseCertificates } from '@handover/material';
import { temporaryFolder } from '@handover/test-api-server';
import { expect, test } from 'vitest';
import { documentOf, MESH_ID, MeshHomes, pass, recordOf, secret } from '../../test/mesh-home.ts';
import { statusText } from '../../test/status-text.ts';
import { type AuthorityRecord, askStatus, readDocument } from '../index.ts';

const homes = new MeshHomes();
const { clock } = homes;
const scratch = temporaryFolder();
const issuedBy = (record: AuthorityRecord, issuers = new Map<string, string>()) => ({
  record,
  issuers,
  now: homes.now,
});

test('A consumer with a status document that never confirms withholds the leaf switch and is named; once it does, nothing waits for reloadWithin', async () => {
  const file = join(scratch, 'status.json');
  const other = join(scratch, 'other.json');
  const home = homes.mesh(
    `{name: slow, presents: true, verifies: true, leaf: a, status: {file: ${file}}}, {name: other, presents: true, verifies: true, leaf: b, status: {file: ${other}}}`,
  );
  const confirm = (): void => {
    writeFileSync(file, documentOf(home, 'a'));
    writeFileSync(other, documentOf(home, 'b'));
  };
  await pass(home);
  confirm();
  await home.requests.ask({ authority: MESH_ID, rotate: 'r' });
  const first = await pass(home);
  expect(first.plan.phase).toBe('Introducing');
  homes.later(30_000);
  const stuck = await pass(home);
  expect(stuck.plan.phase).toBe('Introducing');
  expect(stuck.plan.blockedBy.map(({ consumer }) => consumer)).toContain('slow');
  for (const phase of ['Activating', 'Stable']) {
    confirm();
    expect((await pass(home)).plan.phase).toBe(phase);
  }
});

test('A consumer with a status document whose document is gone, old or garbage is waited for by name, whatever time passes', async () => {
  const file = join(scratch, 'gone.json');
  const home = homes.mesh(`{name: mute, presents: true, verifies: true, leaf: a, status: {file: ${file}}}`);
  await pass(home);
  await home.requests.ask({ authority: MESH_ID, rotate: 'r' });
  for (const text of ['{}', 'garbage', documentOf(home, 'a', instant(homes.now - 60_000))]) {
    writeFileSync(file, text);
    await pass(home);
    homes.later(100_000);
    const { plan } = await pass(home);
    expect(plan.phase).toBe('Introducing');
    expect(plan.blockedBy.map(({ consumer }) => consumer)).toEqual(['mute']);
  }
});

test('A consumer with a status document whose document lacks the field for what the consumer does is waited for, and the field is named', async () => {
  const file = join(scratch, 'partial.json');
  const home = homes.mesh(`{name: part, presents: true, verifies: true, leaf: a, status: {file: ${file}}}`);
  await pass(home);
  await home.requests.ask({ authority: MESH_ID, rotate: 'r' });
  const told = (change: (sources: { anchors?: string[]; leaf?: Record<string, unknown> }[]) => void) => {
    const whole = JSON.parse(documentOf(home, 'a'));
    change(whole.sources);
    writeFileSync(file, JSON.stringify(whole));
  };
  const waits = async (): Promise<{ phase: string; waits: readonly string[] }> => {
    await pass(home);
    const { plan } = await pass(home);
    return { phase: plan.phase, waits: [...new Set(plan.blockedBy.map(({ waitsFor }) => waitsFor))] };
  };
  told((sources) => {
    for (const source of sources) delete source.anchors;
  });
  await pass(home);
  // reloadWithin has passed many times over.
  homes.later(1_000_000);
  told((sources) => {
    for (const source of sources) delete source.anchors;
  });
  expect(await waits()).toEqual({
    phase: 'Introducing',
    waits: [`to load CA generation 2 (the status document of ${file} has no field sources[0].anchors)`],
  });
  told((sources) => {
    for (const source of sources) source.anchors = ['00'];
  });
  expect((await waits()).waits).toEqual([
    `to load CA generation 2 (the status document of ${file} lists no CA of this authority in sources[].anchors)`,
  ]);
  told(() => {});
  expect((await pass(home)).plan.phase).toBe('Activating');
  told((sources) => {
    for (const source of sources) if (source.leaf) source.leaf = {};
  });
  await pass(home);
  homes.later(1_000_000);
  told((sources) => {
    for (const source of sources) if (source.leaf) source.leaf = {};
  });
  expect(await waits()).toEqual({
    phase: 'Activating',
    waits: [
      `to load a leaf of CA generation 2 (the status document of ${file} has no field sources[1].leaf.fingerprint)`,
    ],
  });
  told(() => {});
  expect((await pass(home)).plan.phase).toBe('Stable');
});

test('A consumer with a status document is asked over a unix socket or a URL, at a fixed path, without following redirects', async () => {
  const home = homes.mesh('');
  await pass(home);
  const record = await recordOf(home);
  const asked: (string | undefined)[] = [];
  let answer: (response: { writeHead(code: number, headers?: object): { end(text?: string): void } }) => void;
  const server = createHttpServer((request, response) => {
    asked.push(request.url);
    answer(response);
  });
  const socket = join(scratch, 's.sock');
  await new Promise<void>((listening) => server.listen(socket, listening));
  const good = documentOf(home, 'a');
  answer = (response) => response.writeHead(200).end(good);
  const said = await askStatus({ socket }, issuedBy(record), clock);
  expect(said.proof).toMatchObject({
    by: 'acknowledged',
    complete: true,
    anchors: [expect.any(String)],
    issuer: expect.any(String),
  });
  for (const bad of [
    () => (answer = (response) => response.writeHead(302, { location: '/elsewhere' }).end()),
    () => (answer = (response) => response.writeHead(200).end(`${good}${' '.repeat(70_000)}`)),
  ]) {
    bad();
    expect((await askStatus({ socket }, issuedBy(record), clock)).proof).toBeUndefined();
  }
  expect(new Set(asked)).toEqual(new Set(['/handover/status']));
  await new Promise((closed) => server.close(closed));
  expect((await askStatus({ socket }, issuedBy(record), clock)).unread.leaf).toBe(
    `no status document from ${socket}: there is no such file`,
  );
  expect((await askStatus({ url: 'http://127.0.0.1:1/' }, issuedBy(record), clock)).unread.trust).toBe(
    'no status document from http://127.0.0.1:1/: connection refused (ECONNREFUSED); start the program, or correct the address',
  );
});

test('A status document with several sources counts by the source that holds least', async () => {
  const home = homes.mesh('');
  await pass(home);
  const old = { bundle: secret(home, 'a', 'ca.crt'), chain: secret(home, 'a', 'tls.crt') };
  await home.requests.ask({ authority: MESH_ID, rotate: 'r' });
  await pass(home);
  const record = await recordOf(home);
  const both = JSON.parse(statusText(secret(home, 'a', 'ca.crt'), old.chain, homes.now));
  const laggard = JSON.parse(statusText(old.bundle, old.chain, homes.now));
  const text = JSON.stringify({ ...both, sources: [...both.sources, ...laggard.sources] });
  expect(readDocument(text, issuedBy(record)).proof?.anchors).toHaveLength(1);
  expect(readDocument(JSON.stringify(both), issuedBy(record)).proof?.anchors).toHaveLength(2);
});

test('one leaf without a readable issuer makes a status document no evidence for any leaf; notation does not matter', async () => {
  const home = homes.mesh('');
  await pass(home);
  const record = await recordOf(home);
  const good = JSON.parse(documentOf(home, 'a'));
  const read = (sources: unknown[]) => readDocument(JSON.stringify({ ...good, sources }), issuedBy(record));
  const issuer = read(good.sources).proof?.issuer;
  expect(issuer).toEqual(expect.any(String));
  const vague = read([...good.sources, { leaf: {} }]);
  expect(vague.proof?.issuer).toBeUndefined();
  expect(vague.unread).toEqual({ leaf: 'has no field sources[2].leaf.fingerprint' });
  const [trust, identity] = good.sources;
  const colons = (text: string) => text.toUpperCase().replaceAll(/..(?!$)/g, '$&:');
  const loud = read([
    { ...trust, anchors: trust.anchors.map(colons) },
    { anchors: identity.anchors.map(colons), leaf: { issuerKeyId: colons(identity.leaf.issuerKeyId) } },
  ]);
  expect(loud.proof).toMatchObject({ issuer, anchors: trust.anchors });
});

/** The document of a program that names its leaf by the fingerprint alone. */
const byFingerprint = (text: string): string =>
  JSON.stringify(JSON.parse(text), (key, value: unknown) => (key === 'issuerKeyId' ? undefined : value));

test('A consumer with a status document that names its leaf by the fingerprint alone goes through a rotation as it loads its files', async () => {
  const file = join(scratch, 'print.json');
  const home = homes.mesh(`{name: slow, presents: true, verifies: true, leaf: a, status: {file: ${file}}}`);
  const loads = (): string => {
    const text = byFingerprint(documentOf(home, 'a'));
    writeFileSync(file, text);
    return text;
  };
  await pass(home);
  loads();
  expect((await pass(home)).plan.phase).toBe('Stable');
  await home.requests.ask({ authority: MESH_ID, rotate: 'r' });
  await pass(home);
  homes.later(1_000_000);
  const before = loads();
  expect((await pass(home)).plan.phase).toBe('Activating');
  // It runs on with the leaf that its Secret no longer holds; reloadWithin passes many times over.
  homes.later(1_000_000);
  writeFileSync(file, JSON.stringify({ ...JSON.parse(before), at: new Date(homes.now) }));
  const { plan } = await pass(home);
  expect([plan.phase, plan.blockedBy.map(({ waitsFor }) => waitsFor)]).toEqual([
    'Activating',
    ['to load a leaf of CA generation 2'],
  ]);
  loads();
  expect((await pass(home)).plan.phase).toBe('Stable');
});

test('A consumer with a status document that names a leaf which no object holds is waited for, and the field is named', async () => {
  const file = join(scratch, 'stranger.json');
  const home = homes.mesh(`{name: slow, presents: true, verifies: true, leaf: a, status: {file: ${file}}}`);
  await pass(home);
  await home.requests.ask({ authority: MESH_ID, rotate: 'r' });
  await pass(home);
  homes.later(1_000_000);
  const { fingerprint } = JSON.parse(documentOf(home, 'a')).sources[1].leaf;
  writeFileSync(file, byFingerprint(documentOf(home, 'a')).replaceAll(fingerprint, 'ff'));
  await pass(home);
  expect((await pass(home)).plan.blockedBy.map(({ waitsFor }) => waitsFor)).toContain(
    `to load a leaf of CA generation 2 (the status document of ${file} shows in sources[1].leaf.fingerprint a certificate that no object of this authority holds now; load the newest files, or give issuerKeyId for the leaf of another issuer)`,
  );
});

test('a leaf whose fingerprint is not known counts as older than any, beside a known one too; a key id settles whose it is', async () => {
  const home = homes.mesh('');
  await pass(home);
  const record = await recordOf(home);
  const good = JSON.parse(documentOf(home, 'a'));
  const { fingerprint } = good.sources[1].leaf;
  const [ca] = record.state.generations[0]?.anchors ?? [];
  const read = (...leaves: object[]) =>
    readDocument(
      JSON.stringify({ ...good, sources: leaves.map((leaf) => ({ leaf })) }),
      issuedBy(record, new Map([[fingerprint, ca?.fingerprint ?? '']])),
    );
  expect(read({ fingerprint }).proof).toMatchObject({ issuer: ca?.fingerprint, leaves: [{ fingerprint }] });
  expect(read({ fingerprint }).unread.leaf).toBeUndefined();
  for (const shown of [[{ fingerprint: 'ff' }], [{ fingerprint }, { fingerprint: 'ff' }]]) {
    expect(read(...shown).proof?.issuer).toBe('unknown');
    expect(read(...shown).unread.leaf).toMatch(
      /leaf\.fingerprint a certificate that no object of this authority/,
    );
  }
  // The leaf of another authority says so itself.
  expect(read({ fingerprint }, { fingerprint: 'ff', issuerKeyId: 'ee' }).proof?.issuer).toBe(ca?.fingerprint);
});

test('A consumer with a status document that speaks for several processes counts only when all of them answered', async () => {
  const home = homes.mesh('');
  await pass(home);
  const record = await recordOf(home);
  const good = JSON.parse(documentOf(home, 'a'));
  const read = (processes: unknown) => readDocument(JSON.stringify({ ...good, processes }), issuedBy(record));
  expect(read([{ pid: 7 }, { pid: 8 }]).proof?.anchors).toHaveLength(1);
  expect(read([{ pid: 7 }, { pid: 8, silent: true }])).toEqual({
    unread: { trust: expect.stringContaining('process 8'), leaf: expect.stringContaining('process 8') },
  });
  expect(read([{ pid: 7 }, {}]).proof).toBeUndefined();
  expect(read('all').proof).toBeUndefined();
});

test('A status document tells which chain a process sends, once there is a cross-certificate to send', async () => {
  const home = homes.mesh('');
  await pass(home);
  const chainIn = async (...chains: unknown[]) => {
    const [, identity] = JSON.parse(documentOf(home, 'a')).sources;
    const sources = chains.map((chain) => ({ ...identity, leaf: { ...identity.leaf, chain } }));
    const text = JSON.stringify({ version: 1, at: new Date(homes.now), sources });
    const { proof, unread } = readDocument(text, issuedBy(await recordOf(home)));
    return proof === undefined ? unread.leaf : proof.chain;
  };
  const certificates = () => parseCertificates(secret(home, 'a', 'tls.crt')).certificates;
  expect(certificates()).toHaveLength(1);
  expect(await chainIn([])).toBeUndefined();

  await home.requests.ask({ authority: MESH_ID, rotate: 'r' });
  for (let passes = 0; passes < 4 && certificates().length < 2; passes++) {
    await pass(home);
    homes.later(30_000);
  }
  const [, cross] = certificates();
  const fingerprint = cross?.fingerprint ?? '';
  expect(await chainIn([fingerprint])).toBe('sends');
  expect(await chainIn([fingerprint.toUpperCase().replaceAll(/(..)(?!$)/g, '$1:'), 'of another'])).toBe(
    'sends',
  );
  expect(await chainIn([])).toBe('strips');
  expect(await chainIn(['of another'])).toBe('strips');
  // A program of another language, or an earlier version.
  expect(await chainIn(undefined)).toBeUndefined();
  expect(await chainIn(null)).toBeUndefined();
  expect(await chainIn([fingerprint], undefined)).toBeUndefined();
  expect(await chainIn([fingerprint], [])).toBe('strips');
  expect(await chainIn('none')).toBe('has no list of text in sources[0].leaf.chain');
});

test('A server whose status document shows its leaf alone is named, beside the verifier that relies on the cross-certificate', async () => {
  const file = join(scratch, 'alone.json');
  const home = homes.mesh(
    `{name: web, presents: true, verifies: true, leaf: a, status: {file: ${file}}}, {name: old, presents: true, verifies: true, leaf: b, reload: restart}`,
  );
  const show = (chain: readonly string[]): void => {
    const document = JSON.parse(documentOf(home, 'a'));
    for (const { leaf } of document.sources) if (leaf !== undefined) leaf.chain = chain;
    writeFileSync(file, JSON.stringify(document));
  };
  const phases = async (passes: number): Promise<readonly string[]> => {
    const seen: string[] = [];
    for (let count = 0; count < passes; count++) {
      show([]);
      const { plan } = await pass(home);
      seen.push(plan.phase);
      homes.later(30_000);
    }
    return seen;
  };
  await pass(home);
  await home.requests.ask({ authority: MESH_ID, rotate: 'first' });
  // There was no cross-certificate to see: the gate opened, and the step said on what it rested.
  expect(await phases(4)).toContain('Activating');
  const { history = [] } = await recordOf(home);
  expect(history.find(({ step }) => step === 'activate')?.why).toBe(
    'every verifier accepts CA generation 2; old relies on the cross-certificate, and no probe or status document has shown that web, old send it',
  );
  const { plan } = await pass(home);
  expect(plan.notes.map(({ message }) => message)).toContain(
    'old relies on the cross-certificate, and web does not send it, and no probe or status document has shown that old sends it',
  );
});
