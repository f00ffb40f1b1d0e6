import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { apiServer, temporaryFolder } from '@handover/test-api-server';
import { expect, onTestFinished, test, vi } from 'vitest';
import { MockCa } from '../test/mock-ca.ts';
import { connect } from './client.ts';
import type { ReloadReport } from './reload-report.ts';

test('a client reports each file that it read again, with the result, and prints no warning', async () => {
  const dir = temporaryFolder();
  const [one, two] = [new MockCa('one'), new MockCa('two')];
  const { server, stop } = await apiServer({ tls: one.leaf() });
  const warned = vi.spyOn(process, 'emitWarning');
  onTestFinished(() => warned.mockRestore());
  const file = (name: string, text: string): string => {
    writeFileSync(join(dir, name), text);
    return join(dir, name);
  };
  const identity = one.leaf('client');
  const config = {
    ...server.config,
    tls: {
      ca: { file: file('ca.crt', one.pem) },
      cert: { file: file('tls.crt', identity.cert) },
      key: { file: file('tls.key', identity.key) },
    },
    auth: { tokenFile: file('token', 'first') },
  };
  const reports: ReloadReport[] = [];
  const kube = connect(config, { signal: stop.signal, onReload: (report) => reports.push(report) });
  await kube.raw('GET', '/readyz').catch(() => undefined);
  const told = (what: string, reason: string): Promise<ReloadReport> =>
    vi.waitFor(
      () => reports.find((report) => report.what === what && report.reason === reason) ?? expect.fail(),
      { timeout: 60_000 },
    );
  expect(reports).toEqual([]);
  file('ca.crt', 'no certificate');
  expect((await told('ca', 'parse_error')).error?.code).toMatch(/^[A-Z_]+$/);
  file('ca.crt', one.pem + two.pem);
  expect(await told('ca', 'updated')).toEqual({ what: 'ca', reason: 'updated', error: undefined });
  file('token', '');
  await told('token', 'empty');
  file('token', 'second');
  await told('token', 'updated');
  file('tls.crt', one.leaf('client').cert);
  await told('identity', 'mismatch');
  // Other tests share this process: what counts is a warning about these files.
  expect(JSON.stringify(warned.mock.calls)).not.toContain(dir);
});
