import { expect, test } from 'vitest';
import { knownIn, managersIn } from './askers.ts';
import { declaredOf } from './declared.ts';

const rotate = { 'f:metadata': { 'f:annotations': { 'f:handover.dev/rotate': {} } } };

test('the last manager of the spec and of the rotation annotation is named, and not a manager of status or labels', () => {
  expect(
    managersIn([
      { manager: 'kubectl', time: '2030-01-02T00:00:00Z', fieldsV1: { 'f:spec': { 'f:lifetime': {} } } },
      { manager: 'helm', time: '2030-01-01T00:00:00Z', fieldsV1: { 'f:spec': { 'f:key': {} } } },
      { manager: 'ada', time: '2030-01-03T00:00:00Z', fieldsV1: rotate },
      {
        manager: 'handover',
        time: '2030-01-04T00:00:00Z',
        subresource: 'status',
        fieldsV1: { 'f:spec': {} },
      },
      { manager: 'labeller', time: '2030-01-05T00:00:00Z', fieldsV1: { 'f:metadata': { 'f:labels': {} } } },
    ]),
  ).toEqual({ spec: 'kubectl', rotate: 'ada' });
  expect(managersIn([{ manager: 'x'.repeat(500), fieldsV1: { 'f:spec': {} } }]).spec).toHaveLength(128);
  expect(managersIn(undefined)).toEqual({});
  expect(
    managersIn([{ fieldsV1: { 'f:spec': 7 } }, { manager: 'odd', fieldsV1: { 'f:metadata': 'text' } }]),
  ).toEqual({});
});

test('a rotation that the annotation does not name has no manager as its requester', () => {
  const mesh = declaredOf('Authority', {
    metadata: {
      name: 'mesh',
      namespace: 'default',
      uid: 'u1',
      resourceVersion: '5',
      annotations: { 'handover.dev/rotate': 'q1, q2' },
      managedFields: [{ manager: 'ada', fieldsV1: rotate }],
    },
    spec: {},
  });
  const asked = (id: string) => knownIn([mesh], { kind: 'rotate', authority: 'default/mesh', id });
  expect(asked('q2')).toEqual({ uid: 'u1', askedBy: { via: 'annotation', manager: 'ada' } });
  expect(asked('q3')).toEqual({ uid: 'u1' });
  expect(knownIn([mesh], { kind: 'Leaf', id: 'default/mesh' })).toEqual({});
});
