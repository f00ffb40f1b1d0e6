import { localTlsSupport, type ProfileOutcome } from '@handover/engine';
import { HandoverError, instant, resolveTlsProfile } from '@handover/material';
import { expect, test } from 'vitest';
import type { Declared } from '../resources/declared.ts';
import { statusOfProfile } from './profile-status.ts';

const resolved = resolveTlsProfile({ type: 'Modern' }, localTlsSupport());
const declared = { generation: 1, status: {} } as unknown as Declared;

const told = (more: Partial<ProfileOutcome>) => {
  const plan = { actions: [], waiting: [], notes: [] } as unknown as ProfileOutcome['plan'];
  const outcome: ProfileOutcome = { resolved, plan, hash: resolved.hash, obstacle: undefined, ...more };
  const { conditions = [] } = statusOfProfile(declared, outcome, instant(0)) as {
    readonly conditions?: readonly {
      readonly type: string;
      readonly status: string;
      readonly reason: string;
    }[];
  };
  return conditions.map(({ type, status, reason }) => `${type}=${status} ${reason}`).slice(0, 2);
};

test('a profile whose source cannot be read any more stays ready, and says why it may be old', () => {
  expect(told({})).toEqual(['Ready=True Written', 'Degraded=False Honored']);
  const forbidden = new HandoverError('TLS_PROFILE_SOURCE_FORBIDDEN', 'APIServer/cluster may not be read');
  expect(told({ stale: forbidden })).toEqual(['Ready=True Written', 'Degraded=True SourceForbidden']);
  expect(told({ resolved: forbidden })).toEqual([
    'Ready=False SourceForbidden',
    'Degraded=True SourceForbidden',
  ]);
});
