import { connect } from 'node:net';
import fc from 'fast-check';
import { afterEach, expect, test } from 'vitest';
import { leafFor, Servers } from '../../test/tls-servers.ts';
import { readAnswer } from './answer.ts';
import { groupsFor, suitesFor, type Version } from './names.ts';
import { clientHello } from './offer.ts';

const servers = new Servers();
afterEach(() => servers.end());

const answerTo = async (version: Version): Promise<Buffer> => {
  const { host, port } = await servers.tls({ ...(await leafFor('RSA-2048')), requestCert: true });
  const socket = connect(port, host);
  const offer = { version, suites: suitesFor(version), groups: groupsFor(version), servername: 'localhost' };
  socket.write(clientHello(offer, Buffer.alloc(64, 7)));
  let bytes = Buffer.alloc(0);
  for await (const chunk of socket) {
    bytes = Buffer.concat([bytes, chunk]);
    if (readAnswer(bytes) !== undefined) break;
  }
  return bytes;
};

test.each([
  ['TLS 1.2', 0x0303, true],
  ['TLS 1.3', 0x0304, false],
] as const)(
  'an answer over %s is understood once it is whole, and not before',
  async (version, wire, asks) => {
    const bytes = await answerTo(version);
    const whole = readAnswer(bytes);
    expect(whole).toMatchObject({ kind: 'hello', version: wire, group: 0x1d, asksForCertificate: asks });
    let length = bytes.length;
    while (readAnswer(bytes.subarray(0, length - 1)) !== undefined) length--;
    for (let cut = 0; cut < length; cut++)
      expect([cut, readAnswer(bytes.subarray(0, cut))]).toEqual([cut, undefined]);
  },
);

test('an answer of any bytes is an answer, incomplete, or not TLS; never an exception', async () => {
  const real = [await answerTo('TLS 1.2'), await answerTo('TLS 1.3')];
  const damaged = fc
    .tuple(
      fc.constantFrom(...real),
      fc.array(fc.tuple(fc.nat(400), fc.nat(255)), { minLength: 1, maxLength: 5 }),
    )
    .map(([bytes, changes]) => {
      const copy = Buffer.from(bytes);
      for (const [at, value] of changes) copy[at % copy.length] = value;
      return copy;
    });
  const records = fc
    .array(fc.tuple(fc.integer({ min: 20, max: 23 }), fc.uint8Array({ maxLength: 60 })), { maxLength: 4 })
    .map((list) =>
      Buffer.concat(
        list.map(([type, body]) => Buffer.concat([Buffer.from([type, 3, 3, 0, body.length]), body])),
      ),
    );
  const any = fc.uint8Array({ maxLength: 300 }).map((bytes) => Buffer.from(bytes));
  fc.assert(
    fc.property(fc.oneof(damaged, records, any), (bytes) => {
      expect(['hello', 'alert', 'not-tls', undefined]).toContain(readAnswer(bytes)?.kind);
    }),
    { numRuns: 1_000 },
  );
});
