import { describe, expect, test } from 'vitest';
import { Addresses } from './addresses.ts';

describe('an address that is never asked', () => {
  const addresses = new Addresses(['0.0.0.0/0', '::/0']);
  test.each([
    '127.0.0.1',
    '127.8.8.8',
    '0.0.0.0',
    '169.254.169.254',
    '224.0.0.1',
    '255.255.255.255',
    '::1',
    '::',
    'fe80::1',
    'ff02::1',
    '::ffff:127.0.0.1',
    '::ffff:10.1.2.3',
    '0:0:0:0:0:ffff:7f00:1',
    'localhost',
    '2130706433',
    'fe80::1%eth0',
  ])('the operator never connects to %s, whichever network its flag names', (ip) => {
    expect(addresses.why(ip)).toBeDefined();
  });
});

test('the operator connects to pod addresses, and knows which of them its flag names', () => {
  const addresses = new Addresses(['10.1.0.0/16', 'fd12::/32']);
  for (const ip of ['10.1.2.3', 'fd12::7', '10.2.0.1']) expect(addresses.why(ip)).toBeUndefined();
  expect(['10.1.2.3', 'fd12::7', '10.2.0.1', 'web'].map((ip) => addresses.isNamed(ip))).toEqual([
    true,
    true,
    false,
    false,
  ]);
});

test.each(['10.1.0.0', '10.1.0.0/33', 'web/8', '10.1/16', 'fd12::/129', '/8'])(
  '%s is not a network, and the error says so',
  (network) => {
    expect(() => new Addresses([network])).toThrow(/is not a network; write address\/bits/);
  },
);

test.each([
  ['https://10.96.0.1:443', ['10.96.0.1']],
  ['https://[fd12::1]:443', ['fd12::1', 'FD12::1', 'fd12:0:0:0:0:0:0:1', 'fd12:0000::0001']],
])(
  'the operator does not connect to the API server %s, in any spelling of its address',
  (server, spellings) => {
    const addresses = new Addresses(['0.0.0.0/0', '::/0']).sparing(server);
    for (const ip of spellings) expect(addresses.why(ip)).toBe(`${ip} is the API server's own address`);
    for (const ip of ['10.96.0.2', 'fd12::2']) expect(addresses.why(ip)).toBeUndefined();
  },
);

test('an API server with a host name has no address to compare with', () => {
  expect(new Addresses().sparing('https://api.example.com').why('10.96.0.1')).toBeUndefined();
});
