import { apiServer } from '@handover/test-api-server';
import { expect, test, vi } from 'vitest';
import { Compatibility } from '../compat/compatibility.ts';
import { CustomResources } from '../resources/declarations.ts';
import { WorkloadCache } from '../workloads/workload-cache.ts';

test('no watch asks the API server for anything before its start', async () => {
  const { kube, clock, stop } = await apiServer();
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
      cainjectorNamespace: 'cert-manager',
      takeOver: false,
      bundles: { trustNamespace: 'cert-manager', secretTargets: false, defaultCas: () => ({ why: 'none' }) },
      onChange,
    }),
  ];
  await clock.advance(60_000);
  expect(calls()).toBe(0);
  for (const one of followed) {
    const before = calls();
    void Promise.resolve(one.start(stop.signal)).catch(() => {});
    await clock.until(() => calls() > before, 0);
  }
});
