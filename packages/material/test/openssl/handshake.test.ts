import type { AddressInfo } from 'node:net';
import { connect, createServer, type TLSSocket, type TlsOptions } from 'node:tls';
import { describe, expect, it } from 'vitest';
import { instant, verifyChain } from '../../src/index.ts';
import { authority, DAY, leafOf } from '../mock-ca.ts';
import { type Case, casesOf, Dice, describeCase, makeKeys, SEED } from './worlds.ts';

const HANDSHAKES = Number(process.env.HANDSHAKES ?? 1_100);

// The clock is real here: dates lie around the present.
const now = Math.floor(Date.now() / 1000) * 1000;
const own = authority('control', { notAfter: now + 100 * DAY });
const ownLeaf = leafOf(own, 'control', { notAfter: now + 100 * DAY });

const pems = (certificates: readonly { readonly pem: string }[]): string =>
  certificates.map(({ pem }) => pem).join('');
const keyPem = (key: Case['leafKey']): string =>
  key.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
/** The presenter may have any certificate: it is the verifier whose defaults are tried. */
const presents = ({ chain, leafKey }: Case): { cert: string; key: string; ciphers: string } => ({
  cert: pems(chain),
  key: keyPem(leafKey),
  ciphers: 'DEFAULT:@SECLEVEL=0',
});

/** 'ok' once a byte has arrived; else the reason. A refused client certificate shows only after the handshake. */
const handshake = (one: Case): Promise<string> =>
  new Promise((done) => {
    const verifier = { ca: one.anchors.map(({ pem }) => pem) };
    const serverOptions: TlsOptions =
      one.purpose === 'server'
        ? presents(one)
        : {
            ...verifier,
            cert: ownLeaf.certificate.pem,
            key: keyPem(ownLeaf.key),
            requestCert: true,
            rejectUnauthorized: true,
          };
    let refusal: string | undefined;
    const server = createServer(serverOptions, (socket: TLSSocket) => {
      socket.on('error', () => {});
      socket.end('x');
    });
    server.on('tlsClientError', (error: NodeJS.ErrnoException) => {
      refusal ??= error.code ?? error.message;
    });
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address() as AddressInfo;
      const socket = connect({
        port,
        host: '127.0.0.1',
        checkServerIdentity: () => undefined,
        ...(one.purpose === 'server' ? verifier : { ca: own.certificate.pem, ...presents(one) }),
      });
      let result: string | undefined;
      socket.on('data', () => {
        result ??= 'ok';
        socket.destroy();
      });
      socket.on('error', (error: NodeJS.ErrnoException) => {
        result ??= error.code ?? error.message;
      });
      socket.on('close', () => server.close(() => done(result ?? refusal ?? 'closed')));
    });
  });

describe('handshakes in Node', () => {
  it(`agree on ${HANDSHAKES} generated cases`, { timeout: 600_000 }, async () => {
    process.stdout.write(`seed ${SEED + 1}: run again with SEED=${SEED}\n`);
    const dice = new Dice(SEED + 1);
    const keys = makeKeys();
    const cases: Case[] = [];
    while (cases.length < HANDSHAKES) {
      // not within seconds of a boundary: the clock goes on while we work
      for (const one of casesOf(dice, keys, now, 4)) if (!nearBoundary(one)) cases.push({ ...one, at: now });
    }
    const tally = new Map<string, number>();
    const disagreements: string[] = [];
    let next = 0;
    const worker = async (): Promise<void> => {
      for (let one = cases[next++]; one !== undefined; one = cases[next++]) {
        const ours = verifyChain({ ...one, at: instant(Date.now()) });
        const theirs = await handshake(one);
        const verdict = ours.ok ? 'ok' : ours.code;
        tally.set(verdict, (tally.get(verdict) ?? 0) + 1);
        if (ours.ok !== (theirs === 'ok')) {
          disagreements.push(
            `we say ${JSON.stringify(ours.ok || ours)}, Node '${theirs}'\n${describeCase(one)}`,
          );
        }
      }
    };
    await Promise.all([worker(), worker()]);
    process.stdout.write(
      `${cases.length} handshakes: ${JSON.stringify(Object.fromEntries([...tally].sort()))}\n`,
    );
    expect(disagreements.length, disagreements.slice(0, 3).join('\n\n')).toBe(0);
    expect(tally.get('ok') ?? 0).toBeGreaterThan(HANDSHAKES / 5);
  });
});

const nearBoundary = ({ chain, anchors }: Case): boolean =>
  [...chain, ...anchors].some(
    ({ notBefore, notAfter }) => Math.abs(notBefore - now) < 600_000 || Math.abs(notAfter - now) < 600_000,
  );
