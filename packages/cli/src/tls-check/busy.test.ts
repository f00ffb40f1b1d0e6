import type { Socket } from 'node:net';
import { createSecureContext, TLSSocket } from 'node:tls';
import { localTlsSupport } from '@handover/engine';
import { nodeTlsOptions, resolveTlsProfile } from '@handover/material';
import { TestClock } from '@handover/test-api-server';
import { afterEach, expect, test } from 'vitest';
import { turning } from '../../test/capture.ts';
import { leafFor, Servers } from '../../test/tls-servers.ts';
import { checkTls, type TlsCheck } from './check.ts';
import { OFFERABLE } from './names.ts';
import type { TlsTarget } from './offer.ts';

const leaf = await leafFor('ECDSA-P256');
const servers = new Servers();
afterEach(() => servers.end());

const secureContext = createSecureContext({
  ...leaf,
  ...nodeTlsOptions(resolveTlsProfile({ type: 'Modern' }, localTlsSupport()).profile),
});
const modern = {
  profile: resolveTlsProfile({ type: 'Modern' }, OFFERABLE).profile,
  otherGroups: 'remark',
} as const;

const startsTls = (socket: Socket): void => {
  socket.write('220 mail.test\r\n');
  socket.once('data', () => {
    socket.write('250 STARTTLS\r\n');
    socket.once('data', () => {
      socket.write('220 go ahead\r\n');
      new TLSSocket(socket, { isServer: true, secureContext }).on('error', () => {});
    });
  });
};

const check = (target: TlsTarget, timeoutMs: number): Promise<TlsCheck> => {
  const clock = new TestClock();
  return turning(clock, checkTls(target, modern, { clock, timeoutMs }));
};

test('a mail server that has too many connections for a moment is asked again', async () => {
  let calls = 0;
  const target = await servers.tcp((socket) => {
    // Exim takes 20 connections at a time by default, and counts those that have just ended.
    if (calls++ % 3 === 1) socket.end('421 too many connections\r\n');
    else startsTls(socket);
  });
  const seen = await check({ ...target, starttls: 'smtp' }, 20_000);
  expect([seen.verdict, seen.unknowns, seen.negotiated?.kind]).toEqual(['match', [], 'done']);
});

test('a mail server that stays too busy is given up when the time has passed', async () => {
  const target = await servers.tcp((socket) => void socket.end('421 too many connections\r\n'));
  const seen = await check({ ...target, starttls: 'smtp' }, 600);
  expect(seen.verdict).toBe('unchecked');
  expect(seen.unknowns).toMatchObject([{ message: 'the server greets with 421' }]);
});
