import { expect, test } from 'vitest';
import { said } from './hook-ways.ts';

const base64 = (length: number): string => 'MHcCAQEEIG9vb/dnd3d3'.repeat(10).slice(0, length);

test.each([
  '/etc/handover/out/default/secrets/web/tlscrt',
  '/srv/long-lived/applications/internal/certificates/current/tls.crt',
  '0123456789abcdef'.repeat(4),
  'AA:BB:'.repeat(15).concat('CC:DD'),
  '0123456789ABCDEF 0123456789abcdef fedcba9876543210',
  '/srv/App1/certificates /srv/App2/certificates /srv/App3/certificates',
  'internationalization Incomprehensibilities counterrevolutionaries',
])('the output of a hook about %s is shown', (word) => {
  expect(said(`cat: ${word}: No such file or directory`)).toBe(`cat: ${word}: No such file or directory`);
});

test.each([
  ['a line of PEM', base64(64)],
  ['a line of PEM that begins with a slash', `/${base64(63)}`],
  ['a key in one line', base64(180)],
  ['a key in groups', base64(180).replaceAll(/.{30}/g, '$& ').trim()],
  ['a key in short lines', base64(180).replaceAll(/.{18}/g, '$&\n').trim()],
  ['a path with a segment as long as a key', `/tmp/${'A1b2'.repeat(10)}/x`],
  [
    'the bytes of a key, as openssl -text prints them',
    `${'69:d4:ae:'.repeat(5)} / ${'7f:00:1c:'.repeat(5)}3d:1f`,
  ],
  ['a key that begins with a slash', `/${'A1b2/'.repeat(10)}=`],
])('the output of a hook is shown without %s', (_, word) => {
  expect(said(`cannot read ${word}`)).not.toContain(word.slice(-16));
});
