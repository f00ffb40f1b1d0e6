import { generateKeyPairSync } from 'node:crypto';
import { PrivateKey } from '@handover/material';
import { expect, test } from 'vitest';
import { keysIn } from '../test/keys-made.ts';
import { createLog, LEVELS, type Level } from './log.ts';

const said = (level: Level, act: (log: ReturnType<typeof createLog>) => void): string => {
  let text = '';
  act(createLog({ level, now: () => Date.UTC(2030, 0, 1), write: (line) => (text += line) }));
  return text;
};

test('a line of the log is one JSON document with its level and its time', () => {
  const text = said('info', (log) => {
    log.debug({ event: 'not said' });
    log.warn({ event: 'repaired', object: 'a' });
  });
  expect(text).toBe('{"level":"warn","at":"2030-01-01T00:00:00.000Z","event":"repaired","object":"a"}\n');
});

test.each(['ec', 'rsa'] as const)(
  'a line of the log does not show an %s key, even if the key is logged',
  (type) => {
    const { privateKey } =
      type === 'ec'
        ? generateKeyPairSync('ec', { namedCurve: 'prime256v1' })
        : generateKeyPairSync('rsa', { modulusLength: 2048 });
    const pems = (['pkcs8', type === 'ec' ? 'sec1' : 'pkcs1'] as const).map((kind) =>
      privateKey.export({ type: kind as 'pkcs8', format: 'pem' }).toString(),
    );
    const text = said('trace', (log) => {
      for (const pem of pems) {
        log.error({ event: 'x', 'tls.key': pem, after: 'kept' }, `in a sentence: ${pem} and on`);
        log.error({ event: 'cut off', pem: pem.slice(0, 150) });
        log.trace(new Error(pem));
      }
      log.trace({ key: PrivateKey.of(privateKey), object: privateKey });
    });
    expect(keysIn(text, [privateKey])).toEqual([]);
    expect(text).toContain('"after":"kept"');
    expect(text).toContain(String.raw`in a sentence: [private key]\n and on`);
    for (const line of text.trim().split('\n')) expect(() => JSON.parse(line)).not.toThrow();
    // The search would have found it.
    for (const pem of pems) expect(keysIn(JSON.stringify({ pem }), [privateKey]).length).toBeGreaterThan(0);
  },
);

test('the log has the lines of its level and above', () => {
  expect(LEVELS).toEqual(['trace', 'debug', 'info', 'warn', 'error']);
});
