import { expect, test } from 'vitest';
import { isOwnHost } from './hosts.ts';

test.each([
  '127.0.0.1:8080',
  '10.0.3.7:8080',
  '10.0.3.7',
  '[::1]:8080',
  '[fd00::7]',
  'localhost:9464',
  'LOCALHOST',
  'handover-metrics.handover-system.svc:8443',
  'handover-metrics.handover-system.svc.cluster.local',
  'db1:9464',
])('the Host header %s may come from a probe or a scraper', (header) => {
  expect(isOwnHost(header, ['0.0.0.0', 'db1'])).toBe(true);
});

test.each([
  undefined,
  '',
  'attacker.example',
  'attacker.example:8080',
  'x.svc.attacker.example',
  'svc',
  '.svc',
  'x.svc.cluster.local.attacker.example',
  '127.0.0.1.attacker.example',
  'db1.attacker.example',
  'localhost.attacker.example',
  'a b.svc',
  '::1',
])('the Host header %s may come from a page that uses DNS rebinding', (header) => {
  expect(isOwnHost(header, ['0.0.0.0', 'db1'])).toBe(false);
});
