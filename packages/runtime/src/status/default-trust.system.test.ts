import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { rootCertificates } from 'node:tls';
import { beforeAll, expect, test } from 'vitest';
import { bundleRuntime, run } from '../../test/bundle.ts';
import { files, Scope } from '../../test/fixture.ts';
import { MockCa } from '../../test/mock-ca.ts';
import type { StatusDocument } from '../index.ts';

const [one, two] = [new MockCa('one'), new MockCa('two')];
const scope = new Scope();
let dir: string;

beforeAll(async () => {
  ({ dir } = await bundleRuntime());
});

/** What a process shows of itself, with NODE_EXTRA_CA_CERTS set; `before`: what it does first. */
const documentWith = async (
  path: string,
  before = '',
): Promise<{ document: StatusDocument; stderr: string }> => {
  const volume = scope.volume(files(one.leaf(), one, two));
  const script = `import { writeFileSync } from 'node:fs';
    import { openTrust, serveStatus } from './runtime.mjs';
    ${before}
    const trust = await openTrust(${JSON.stringify(volume.path('ca.crt'))});
    const status = await serveStatus({ port: 0, host: '127.0.0.1', sources: [trust] });
    const response = await fetch('http://127.0.0.1:' + status.port + '/handover/status');
    console.log(await response.text());`;
  const { stdout, stderr } = await run(dir, script, { env: { NODE_EXTRA_CA_CERTS: path } });
  return { document: JSON.parse(stdout) as StatusDocument, stderr };
};

test('a process with NODE_EXTRA_CA_CERTS shows the CAs that Node has read from it, and goes on trusting', async () => {
  const path = join(dir, 'extra.crt');
  writeFileSync(path, one.pem);
  const { document } = await documentWith(path);
  expect(document.sources.map(({ anchors }) => anchors?.length)).toEqual([2, 1]);
  expect(document.sources[1]?.path).toBe(path);
});

test('a process whose NODE_EXTRA_CA_CERTS was replaced while it ran shows what Node has read, or is silent', async () => {
  const path = join(dir, 'replaced.crt');
  writeFileSync(path, one.pem);
  const replace = `import tls from 'node:tls';
    tls.createSecureContext({});
    writeFileSync(${JSON.stringify(path)}, ${JSON.stringify(one.pem + two.pem)});`;
  const { document, stderr } = await documentWith(path, replace);
  if (process.version.startsWith('v20.')) {
    expect(document.processes[0]?.silent).toBe(true);
    expect(stderr).toContain('EXTRA_CA_UNKNOWN');
  } else {
    expect(document.sources[1]?.anchors).toHaveLength(1);
  }
});

test('a process whose NODE_EXTRA_CA_CERTS names no file shows no CAs of it', async () => {
  const { document } = await documentWith(join(dir, 'missing.crt'));
  expect(document.sources).toHaveLength(1);
});

test("a process that reads the system's roots as NODE_EXTRA_CA_CERTS shows what Node does not carry itself", async () => {
  const path = join(dir, 'system.crt');
  writeFileSync(path, `${rootCertificates.slice(0, 3).join('\n\n')}\n${one.pem}`);
  const { document } = await documentWith(path);
  expect(document.sources.map(({ anchors }) => anchors?.length)).toEqual([2, 1]);
});
