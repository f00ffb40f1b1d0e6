import type { ObjectSeen, Reissue } from '@handover/core';
import type { ModelWorld, State } from './model.ts';

/** How a controller sees that another program writes an object. */
export const writtenBy = (
  { lent = {} }: ModelWorld,
  state: State,
  id: string,
): Pick<ObjectSeen, 'writtenBy' | 'elsewhere'> & Partial<Pick<ObjectSeen, 'leaf'>> => {
  const nature = lent[id];
  const now = state.lent[id];
  if (nature === undefined || now === undefined) return {};
  const pending = now.asked || now.signed !== undefined;
  const asked = nature.unasked === true ? 'never' : pending ? 'pending' : 'can';
  const held = state.objects[id]?.leaf;
  const old = state.authority?.generations.find(({ role }) => role === 'previous' || role === 'distrusted');
  const current = state.authority?.generations.find(({ role }) => role === 'current');
  return {
    writtenBy: {
      program: 'cert-manager',
      asked,
      ...(nature.forgotten === true ? { ofOneProcess: true } : {}),
      ...(nature.gone === true ? { gone: true } : {}),
    },
    ...(nature.forgotten === true && held !== undefined && old !== undefined
      ? { leaf: { ...held, issuer: old.anchors[0].fingerprint } }
      : {}),
    ...(nature.gone === true && held !== undefined && current !== undefined
      ? { leaf: { ...held, issuer: current.anchors[0].fingerprint } }
      : {}),
    ...(nature.elsewhere === true ? { elsewhere: true } : {}),
  };
};

/** The request for a new leaf arrives. */
export const askFor = (state: State, { object, expect }: Reissue): State | undefined => {
  const before = state.objects[object];
  if (before === undefined || String(before.version) !== expect) return undefined;
  if (state.lent[object]?.asked === true) return state;
  return {
    ...state,
    objects: { ...state.objects, [object]: { ...before, version: before.version + 1 } },
    lent: { ...state.lent, [object]: { ...state.lent[object], asked: true } },
  };
};
