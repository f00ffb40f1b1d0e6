import { expect, test } from 'vitest';
import { mayAsk } from './hosts.ts';

test.each([
  ['127.0.0.1:8082', true],
  ['localhost:8082', true],
  ['LOCALHOST', true],
  ['[::1]:8082', true],
  ['127.0.0.2', true],
  ['attacker.example:8082', false],
  ['127.0.0.1.attacker.example', false],
  ['localhost.attacker.example', false],
  ['10.0.0.7:8082', false],
  ['127.0.0.1@attacker.example', false],
  ['', false],
  [undefined, false],
])('on loopback a request to %s is answered: %s', (header, answered) => {
  expect(mayAsk(header, '127.0.0.1')).toBe(answered);
});

test.each([
  ['10.0.0.7:8082', true],
  ['[fd00::1]:8082', true],
  ['127.0.0.1:8082', true],
  ['dashboard.example:8082', false],
])('on every address a request to %s is answered: %s', (header, answered) => {
  expect(mayAsk(header, '0.0.0.0')).toBe(answered);
});
