import { on, once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { createSecureContext, TLSSocket } from 'node:tls';
import { START_TLS, type StartTls } from '@handover/core';
import { instant, parseCertificates } from '@handover/material';
import { TestClock } from '@handover/test-api-server';
import { afterEach, beforeAll, expect, test } from 'vitest';
import { dealKey } from '../../test/world.ts';
import { localKeyring } from '../index.ts';
import { Canaries } from './canary.ts';
import { handshake } from './handshake.ts';

const clock = new TestClock();
let leaf: { readonly cert: string; readonly key: string; readonly fingerprint: string };
beforeAll(async () => {
  const keyring = localKeyring(dealKey);
  const random = (bytes: number) => new Uint8Array(bytes).fill(7);
  const canaries = new Canaries({ keyring, keys: dealKey, random, log: { issued: async () => {} } });
  const made = await canaries.control(instant(Date.now()));
  leaf = {
    ...made,
    fingerprint: parseCertificates(Buffer.from(made.cert)).certificates[0]?.fingerprint ?? '',
  };
});

const servers: Server[] = [];
const sockets: Socket[] = [];
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  for (const server of servers.splice(0)) {
    server.close();
    await once(server, 'close');
  }
});

const listen = async (serve: (socket: Socket) => unknown): Promise<number> => {
  // Without a delay: the kernel would keep single bytes back for a while, by a clock of its own.
  const server = createServer({ noDelay: true }, (socket) => {
    sockets.push(socket);
    socket.on('error', () => {});
    serve(socket);
  }).listen(0, '127.0.0.1');
  servers.push(server);
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
};

type Say = (socket: Socket, text: string) => Promise<void>;
const atOnce: Say = (socket, text) =>
  new Promise((said) => {
    socket.write(text, 'latin1', () => said());
  });
const byByte: Say = async (socket, text) => {
  for (const letter of text) await atOnce(socket, letter);
};

type Play = readonly [greeting: string, turns: readonly (readonly [asks: string, answer: string])[]];

/** Greets, and answers one request after the other, as long as each is what was expected; then comes TLS. */
const played =
  ([greeting, turns]: Play, say: Say = atOnce) =>
  async (socket: Socket): Promise<void> => {
    const asked = on(socket, 'data');
    await say(socket, greeting);
    for (const [expected, answer] of turns) {
      const { value } = (await asked.next()) as { value: [Buffer] };
      if (!value[0].toString('latin1').includes(expected)) return void socket.destroy();
      socket.pause();
      // A MySQL client does not wait for an answer before its ClientHello.
      if (answer === '') socket.unshift(value[0].subarray(36));
      await say(socket, answer);
      if (expected !== turns.at(-1)?.[0]) socket.resume();
    }
    const secureContext = createSecureContext({ cert: leaf.cert, key: leaf.key });
    new TLSSocket(socket, { isServer: true, secureContext }).on('error', () => {});
  };

const MYSQL = `\x4a\0\0\0\x0a11.4.2-MariaDB\0\x01\0\0\0AAAAAAAA\0\xfe\xff\x2d\x02\0\xff\x81\x15${'\0'.repeat(10)}BBBBBBBBBBBB\0mysql_native_password\0`;
const mysql = `${String.fromCharCode(MYSQL.length - 4)}${MYSQL.slice(1)}`;
const LDAP_YES = '\x30\x0c\x02\x01\x01\x78\x07\x0a\x01\0\x04\0\x04\0';
const STREAM =
  "<?xml version='1.0'?><stream:stream from='db.test' xmlns='jabber:client' xmlns:stream='http://etherx.jabber.org/streams'>";
const XMPP_TLS = "<starttls xmlns='urn:ietf:params:xml:ns:xmpp-tls'><required/></starttls>";

/** Greeting and turns of a server that has TLS. */
const GOOD: Readonly<Record<StartTls, Play>> = {
  postgres: ['', [['\0\0\0\x08\x04\xd2\x16\x2f', 'S']]],
  mysql: [mysql, [['\x20\0\0\x01\0\x8a', '']]],
  smtp: [
    '220-mail.test\r\n220 ready\r\n',
    [
      ['EHLO ', '250-mail.test\r\n250-SIZE 10\r\n250 STARTTLS\r\n'],
      ['STARTTLS\r\n', '220 go ahead\r\n'],
    ],
  ],
  imap: [
    '* OK [CAPABILITY IMAP4rev1 STARTTLS] ready\r\n',
    [['h1 STARTTLS\r\n', '* NOTE\r\nh1 OK begin\r\n']],
  ],
  ldap: ['', [['1.3.6.1.4.1.1466.20037', LDAP_YES]]],
  ftp: ['220-Welcome to\r\n files\r\n220 ready\r\n', [['AUTH TLS\r\n', '234 go ahead\r\n']]],
  xmpp: [
    '',
    [
      ["to='db.test'", `${STREAM}<stream:features>${XMPP_TLS}</stream:features>`],
      ['<starttls ', "<proceed xmlns='urn:ietf:params:xml:ns:xmpp-tls'/>"],
    ],
  ],
};

const begun = async (serve: (socket: Socket) => unknown, starttls: StartTls) => {
  const door = { host: '127.0.0.1', port: await listen(serve), servername: 'db.test', starttls };
  return handshake(clock, door, undefined);
};
const tried = (serve: (socket: Socket) => unknown, starttls: StartTls) =>
  clock.during(begun(serve, starttls));

test.each(START_TLS)(
  'a server with StartTLS of %s goes over to TLS and shows its certificate',
  async (protocol) => {
    const result = await tried(played(GOOD[protocol]), protocol);
    expect(result).toMatchObject({
      kind: 'done',
      completed: true,
      chain: [{ fingerprint: leaf.fingerprint }],
    });
  },
);

test.each(START_TLS)(
  'a server with StartTLS of %s that answers byte by byte is understood',
  async (protocol) => {
    const result = await tried(played(GOOD[protocol], byByte), protocol);
    expect(result).toMatchObject({ kind: 'done', completed: true });
  },
);

const REFUSED: readonly (readonly [StartTls, string, Play, RegExp])[] = [
  ['postgres', 'has no TLS', ['', [['', 'N']]], /^has TLS off$/],
  ['postgres', 'answers with an error', ['', [['', 'EFATAL']]], /^has TLS off$/],
  ['postgres', 'is HTTP', ['', [['', 'HTTP/1.1 400 Bad Request\r\n']]], /^does not speak postgres$/],
  ['mysql', 'has no TLS', [mysql.replace('\xfe\xff', '\xfe\xf7'), []], /^has TLS off$/],
  ['mysql', 'blocks the host', ['\x05\0\0\0\xff\x69\x04no', []], /refuses this host/],
  ['mysql', 'is SMTP', ['220 mail.test\r\n', []], /^does not speak mysql$/],
  ['mysql', 'ends within its greeting', ['\x06\0\0\0\x0a11.4\0', []], /^does not speak mysql$/],
  ['smtp', 'has no TLS', ['220 a\r\n', [['EHLO', '250-a\r\n250 SIZE\r\n']]], /^has TLS off$/],
  ['smtp', 'is closed', ['554 no\r\n', []], /^greets with 554$/],
  [
    'smtp',
    'refuses',
    [
      '220 a\r\n',
      [
        ['EHLO', '250 STARTTLS\r\n'],
        ['STARTTLS', '454 not now\r\n'],
      ],
    ],
    /^refuses STARTTLS with 454$/,
  ],
  [
    'smtp',
    'answers EHLO and STARTTLS before they are sent',
    ['220 a\r\n250 STARTTLS\r\n220 go\r\n', []],
    /^answers before it is asked$/,
  ],
  [
    'smtp',
    'answers STARTTLS before it is sent',
    ['220 a\r\n', [['EHLO', '250 STARTTLS\r\n220 go\r\n']]],
    /^answers before it is asked$/,
  ],
  ['imap', 'answers before it is asked', ['* OK a\r\nh1 OK go\r\n', []], /^answers before it is asked$/],
  ['imap', 'has no TLS', ['* OK a\r\n', [['STARTTLS', 'h1 BAD what\r\n']]], /^has TLS off$/],
  ['imap', 'is SMTP', ['220 a\r\n', []], /^does not speak imap$/],
  ['ldap', 'has no TLS', ['', [['', LDAP_YES.replace('\x0a\x01\0', '\x0a\x01\x02')]]], /result 2/],
  ['ldap', 'ends its answer early', ['', [['', '\x30\x05\x02\x01\x01\x78\0']]], /^does not speak ldap$/],
  ['ftp', 'has no TLS', ['220 a\r\n', [['AUTH', '502 what\r\n']]], /^has TLS off$/],
  ['ftp', 'has no certificate', ['220 a\r\n', [['AUTH', '431 none\r\n']]], /^refuses AUTH TLS with 431$/],
  ['ftp', 'is full', ['421 later\r\n', []], /^greets with 421$/],
  ['ftp', 'answers before it is asked', ['220 a\r\n234 go\r\n', []], /^answers before it is asked$/],
  ['ftp', 'is SSH', ['SSH-2.0-x\r\n', []], /^does not speak ftp$/],
  [
    'xmpp',
    'has no TLS',
    ['', [['to=', `${STREAM}<stream:features><mechanisms/></stream:features>`]]],
    /^has TLS off$/,
  ],
  ['xmpp', 'has no features', ['', [['to=', `${STREAM}<stream:features/>`]]], /^has TLS off$/],
  [
    'xmpp',
    'does not have that domain',
    ['', [['to=', `${STREAM}<stream:error><host-unknown xmlns='a'/></stream:error>`]]],
    /^refuses the stream \(host-unknown\)$/,
  ],
  [
    'xmpp',
    'consents before it is asked',
    ['', [['to=', `${STREAM}<stream:features>${XMPP_TLS}</stream:features><proceed/>`]]],
    /^answers before it is asked$/,
  ],
  [
    'xmpp',
    'refuses',
    [
      '',
      [
        ['to=', `${STREAM}<stream:features>${XMPP_TLS}</stream:features>`],
        ['<starttls', "<failure xmlns='a'/>"],
      ],
    ],
    /^refuses STARTTLS$/,
  ],
  ['xmpp', 'is HTTP', ['', [['', 'HTTP/1.1 400 Bad Request\r\n']]], /^does not speak xmpp$/],
  ['ldap', 'is HTTP', ['', [['', 'HTTP/1.1 400 Bad Request\r\n']]], /^does not speak ldap$/],
];
test.each(REFUSED)('a server of %s that %s is named', async (protocol, _, [greeting, turns], why) => {
  const serve = (socket: Socket): void => {
    const left = [...turns];
    socket.write(greeting, 'latin1');
    socket.on('data', () => socket.write(left.shift()?.[1] ?? '', 'latin1'));
  };
  expect(await tried(serve, protocol)).toMatchObject({
    kind: 'unreachable',
    why: expect.stringMatching(why),
  });
});

test.each(START_TLS.filter((protocol) => protocol !== 'mysql'))(
  'a server of %s that sends more than its consent before the handshake is refused: it was not protected',
  async (protocol) => {
    const [greeting, turns] = GOOD[protocol];
    const injected = turns.map(([asked, answer], at) =>
      at === turns.length - 1 ? ([asked, `${answer}more\r\n`] as const) : ([asked, answer] as const),
    );
    expect(await tried(played([greeting, injected]), protocol)).toMatchObject({
      kind: 'unreachable',
      why: 'sends unprotected data between its consent to TLS and the handshake',
    });
  },
);

test.each(START_TLS)(
  'a server of %s that says nothing, closes or never stops is no evidence, in bounded time',
  async (protocol) => {
    const silent = begun(() => {}, protocol);
    const closes = begun((socket) => socket.end(), protocol);
    const babbles = begun((socket) => {
      const more = (): void => {
        if (!socket.destroyed) socket.write('* '.repeat(20_000), more);
      };
      more();
    }, protocol);
    const began = clock.monotonic();
    await clock.during(Promise.all([silent, closes, babbles]));
    expect(clock.monotonic() - began).toBe(2_000);
    expect(await silent).toEqual({
      kind: 'unreachable',
      why: `does not start TLS by ${protocol} within 2 s`,
      reason: 'timeout',
    });
    expect(await closes).toMatchObject({ kind: 'unreachable', why: expect.stringContaining('closes') });
    expect(await babbles).toMatchObject({
      kind: 'unreachable',
      why: expect.stringMatching(/does not speak|has TLS off/),
    });
  },
);

test('a probe of a port without a listener is named with its code', async () => {
  const result = await handshake(clock, { host: '127.0.0.1', port: 1, starttls: 'imap' }, undefined);
  expect(result).toEqual({
    kind: 'unreachable',
    why: 'cannot be reached (ECONNREFUSED)',
    reason: 'unreachable',
  });
});
