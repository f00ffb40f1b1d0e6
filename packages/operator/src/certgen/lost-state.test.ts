import { type CertgenResult, envoyGateway } from '@handover/engine';
import { type Kube, type Secret, secrets } from '@handover/kube';
import { parseCertificates } from '@handover/material';
import { apiServer, type FakeApiServer } from '@handover/test-api-server';
import { beforeEach, expect, test } from 'vitest';
import { openCertgen } from './certgen.ts';

const NAMESPACE = 'envoy-gateway-system';
const ID = `${NAMESPACE}/envoy-gateway-ca`;
const NAMES = ['envoy', 'envoy-gateway', 'envoy-rate-limit'];
/** As the recipe's `printf … | sha256sum` gives it. */
const STATE = { namespace: NAMESPACE, name: 'handover-authority-a498f7c86fbc48a087f66abc' };
let server: FakeApiServer;
let kube: Kube;
let end: AbortController;
beforeEach(async () => {
  ({ server, kube, stop: end } = await apiServer({ namespaces: [NAMESPACE] }));
});

const { resources } = envoyGateway(NAMESPACE, { topologyInjector: false });
const open = (takesOver: boolean) =>
  openCertgen({ kube, namespace: NAMESPACE, resources, takesOver, signal: end.signal });
const run = async (overwrite = false): Promise<readonly CertgenResult[]> =>
  (await open(overwrite)).run({ overwrite });
const cas = async (name: string): Promise<readonly string[]> => {
  const found = await kube.get(secrets, { namespace: NAMESPACE, name });
  const pem = Buffer.from(found?.data?.['ca.crt'] ?? '', 'base64').toString();
  return parseCertificates(pem).certificates.map(({ fingerprint }) => fingerprint);
};
const writes = (): number => server.requests.filter(({ method }) => method !== 'GET').length;

test('a run with a deleted state names its Secret and the CA, and --overwrite takes the CA over', async () => {
  await run();
  const old = await cas('envoy');
  await kube.delete(secrets, STATE);
  const before = writes();
  await expect(run()).rejects.toMatchObject({
    code: 'CERTGEN_STATE_MISSING',
    message: expect.stringContaining(`Secret ${NAMESPACE}/${STATE.name}`),
  });
  await expect(run()).rejects.toThrow(old[0] ?? 'a CA');
  expect(writes()).toBe(before);
  expect(await run(true)).toMatchObject([{ phase: 'Introducing' }]);
  for (const name of NAMES) expect((await cas(name)).slice(1)).toEqual(old);
  expect(await run()).toMatchObject([{ phase: 'Introducing', written: 0 }]);
});

const without = ({ metadata: { resourceVersion, uid, ...metadata }, ...rest }: Secret): Secret => ({
  ...rest,
  metadata,
});

test('a run with an old state from a backup is refused until the state is deleted and --overwrite takes the CAs over', async () => {
  await run();
  await run(true);
  const old = (await kube.get(secrets, STATE)) as Secret;
  const [distrusted] = await cas('envoy');
  const { home, run: again } = await open(false);
  await home.requests.ask({ authority: ID, distrust: 2 });
  await again({ overwrite: false });
  const inUse = await cas('envoy');
  expect(inUse).not.toContain(distrusted);
  await kube.delete(secrets, STATE);
  await kube.create(secrets, without(old), { namespace: NAMESPACE });
  const before = writes();
  for (const overwrite of [false, true])
    await expect(run(overwrite)).rejects.toMatchObject({
      code: 'CERTGEN_STATE_OUTDATED',
      message: expect.stringContaining(`delete Secret ${NAMESPACE}/${STATE.name}`),
    });
  expect(writes()).toBe(before);
  await kube.delete(secrets, STATE);
  await expect(run()).rejects.toMatchObject({ code: 'CERTGEN_STATE_MISSING' });
  expect(await run(true)).toMatchObject([{ phase: 'Introducing' }]);
  for (const name of NAMES) expect((await cas(name)).slice(1)).toEqual(inUse);
});
