import type { Kube } from '@handover/kube';
import { apiServer } from '@handover/test-api-server';
import { beforeEach } from 'vitest';
import { contentsAreBytes } from '../../test/contents.ts';

let kube: Kube;
beforeEach(async () => {
  ({ kube } = await apiServer());
});

contentsAreBytes(() => kube);
