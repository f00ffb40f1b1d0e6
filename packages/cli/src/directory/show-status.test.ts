import type { Status } from '@handover/engine';
import { expect, test } from 'vitest';
import { showStatus } from './show-status.ts';

/** A forged "Stable" in green on a cleared screen, with another title of the window. */
const HOSTILE = '\u001b]0;mine\u0007\u001b[2J\u001b[32mStable\u001b[0m\u202e';

// biome-ignore lint/suspicious/noControlCharactersInRegex: what must not be there
const CONTROLS = /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202e]/;

/** A status in which each text is hostile. */
const status = {
  authorities: [
    {
      namespace: `prod${HOSTILE}`,
      name: HOSTILE,
      phase: 'Introducing',
      ready: false,
      notReady: [HOSTILE],
      generations: [{ generation: 1, role: HOSTILE, fingerprint: HOSTILE, notBefore: '', notAfter: HOSTILE }],
      blockedBy: [{ consumer: HOSTILE, waitsFor: `to load ${HOSTILE}`, since: HOSTILE }],
      leaves: [
        { namespace: HOSTILE, name: HOSTILE, generation: 1, fingerprint: HOSTILE, notAfter: HOSTILE },
        { namespace: HOSTILE, name: HOSTILE, refused: HOSTILE },
      ],
      consumers: [
        {
          name: HOSTILE,
          kind: 'Deployment',
          evidence: HOSTILE,
          stands: 'shown',
          at: HOSTILE,
          remark: HOSTILE,
          shows: [],
        },
      ],
      evidence: { shown: 1, assumed: 0, notNeeded: 0, none: 0 },
      restsOnTime: [],
      hooks: [],
      dueAt: null,
      wakeAt: null,
      expiring: null,
      notes: [HOSTILE],
      next: [],
      history: [
        {
          step: 'mint',
          generations: [1],
          at: HOSTILE,
          why: HOSTILE,
          rotation: HOSTILE,
          askedBy: { via: 'annotation', manager: HOSTILE },
        },
      ],
    },
  ],
  unusable: [{ kind: 'Leaf', id: HOSTILE, code: 'RESOURCE_INVALID', message: HOSTILE }],
  wrong: [],
  trustBundles: [{ name: HOSTILE, targets: [{ object: HOSTILE, certificates: 1, hash: null }], hook: null }],
  tlsProfiles: [
    { namespace: HOSTILE, name: HOSTILE, type: HOSTILE, hash: null, written: true, problems: [HOSTILE] },
  ],
  remarks: [HOSTILE],
} as unknown as Status;

test('no text of others controls the terminal that shows a status, in colours or without', () => {
  const painted = showStatus(status, true);
  // biome-ignore lint/suspicious/noControlCharactersInRegex: our own colours
  const rest = painted.replace(/\u001b\[(?:3[123]|0)m/g, '');
  for (const text of [rest, showStatus(status, false)]) expect(text).not.toMatch(CONTROLS);
  // The phase alone is painted, and it is not the forged one.
  // biome-ignore lint/suspicious/noControlCharactersInRegex: our own colours
  expect(painted.match(/\u001b\[3[23]m[^\u001b]*/g)).toEqual(['\u001b[33mIntroducing']);
});
