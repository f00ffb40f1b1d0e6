// Against: HAProxy 2.6, Redis 7.0 and Java 17 of Debian 12, on a machine with a systemd of its own.
import { copyFileSync, cpSync, readdirSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { directory } from '../around.ts';
import { packed, startMachine } from './machine.ts';
import { follow, well } from './page.ts';

/** What Debian's packages have put on a machine that has HAProxy, Redis and Java. */
const CONFIGURED = [
  'haproxy',
  'redis',
  'default',
  'ssl',
  ...readdirSync('/etc').filter((name) => name.startsWith('java')),
];

test('a newcomer with the packed file has HAProxy, Redis and a Java client rotating within 10 minutes, without a failed call', async () => {
  const machine = await startMachine();
  try {
    for (const name of CONFIGURED) cpSync(`/etc/${name}`, machine.path(`/etc/${name}`), { recursive: true });
    for (const user of ['haproxy', 'redis'])
      await well(
        machine,
        `groupadd --system ${user} && useradd --system -g ${user} -d /var/lib/${user} ${user}`,
      );
    await well(
      machine,
      'install -d /var/lib/haproxy; install -d -o redis -g redis /var/lib/redis /var/log/redis',
    );
    await well(machine, 'chown -R redis:redis /etc/redis');
    copyFileSync(packed(directory()), machine.path('/root/handover-0.1.0.tgz'));
    const begun = Date.now();
    await follow(machine, 'Install');
    const said = await follow(machine, 'Example: HAProxy, Redis and a Java client');
    const seconds = Math.round((Date.now() - begun) / 1000);
    expect(said).toContain('of default/internal is complete\n');
    expect(said).toContain('PKCS#12 keystore, 2 certificates, 1 private key; the password fits\n');
    expect(said).toContain('HANDOVER OK - 1 authority, 3 leaves');
    const calls = readFileSync(machine.path('/root/client.log'), 'utf8').trim().split('\n');
    expect(calls.filter((line) => line !== 'ok')).toEqual([]);
    expect(calls.length).toBeGreaterThan(20);
    expect(await well(machine, 'redis-cli -s /run/redis/redis.sock config get tls-port')).toContain('6379');
    const { consumers } = JSON.parse(await well(machine, 'handover status --json --home dir:/etc/handover'))
      .authorities[0];
    expect(consumers).toMatchObject([
      { name: 'haproxy', evidence: 'probed' },
      { name: 'redis', evidence: 'probed' },
    ]);
    expect(seconds).toBeLessThan(600);
    console.log(`the commands of the page: ${seconds} s; ${calls.length} calls of the Java client, 0 failed`);
  } finally {
    await machine.end();
  }
});
