import { connect } from '@handover/kube';
import { FakeApiServer } from '@handover/test-api-server';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { Compatibility } from '../compat/compatibility.ts';
import { CustomResources } from '../resources/declarations.ts';
import { WorkloadCache } from '../workloads/workload-cache.ts';

let server: FakeApiServer;
const end = new AbortController();
beforeEach(async () => {
  server = await FakeApiServer.start();
});
afterEach(async () => {
  end.abort();
  await server.stop();
});

test('what follows the cluster asks nothing of the API server before its start', async () => {
  const { signal } = end;
  const kube = connect(server.config, { signal, rate: false });
  const asked = [vi.spyOn(kube, 'list').mock, vi.spyOn(kube, 'watch').mock];
  const calls = (): number => asked.reduce((sum, mock) => sum + mock.calls.length, 0);
  const onChange = (): void => {};
  const followed = [
    new CustomResources({ kube, onChange }),
    new WorkloadCache({ kube, onPod: onChange, onWorkload: onChange }),
    new Compatibility({
      kube,
      compat: ['cainjector', 'service-ca', 'trust-manager'],
      serviceCaAuthority: 'default/mesh',
      takeOver: false,
      bundles: { trustNamespace: 'cert-manager', secretTargets: false, defaultCas: () => ({ why: 'none' }) },
      onChange,
    }),
  ];
  await new Promise((resolve) => setImmediate(resolve));
  expect(calls()).toBe(0);
  for (const one of followed) {
    const before = calls();
    void Promise.resolve(one.start(signal)).catch(() => {});
    await vi.waitFor(() => expect(calls()).toBeGreaterThan(before), 30_000);
  }
});
