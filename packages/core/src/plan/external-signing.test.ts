import { day, hour, instant } from '@handover/material';
import { expect, test } from 'vitest';
import { Story, T0 } from '../../test/story.ts';
import type { AuthorityState } from './authority.ts';
import { recordExternalSigning, withExternalDates } from './external-signing.ts';

const begun = (): AuthorityState => {
  const story = new Story();
  story.run();
  return story.authority ?? expect.fail('no authority');
};

test('a leaf for another program is remembered up to the whole day, once, without a new revision', () => {
  const state = begun();
  const raised =
    recordExternalSigning(state, { notAfter: instant(T0 + 9 * day + hour), isUnseen: false }) ??
    expect.fail('not raised');
  expect(raised.generations).toMatchObject([{ lentUntil: T0 + 10 * day }]);
  expect(raised.generations[0]?.unseenUntil).toBeUndefined();
  expect(raised.revision).toBe(state.revision);
  expect(recordExternalSigning(raised, { notAfter: instant(T0 + 9 * day), isUnseen: false })).toBeUndefined();
  const unseen = recordExternalSigning(raised, { notAfter: instant(T0 + 2 * day), isUnseen: true });
  expect(unseen?.generations).toMatchObject([{ lentUntil: T0 + 10 * day, unseenUntil: T0 + 2 * day }]);
});

test('no leaf is remembered past the end of its CA', () => {
  const state = begun();
  const end = state.generations[0]?.anchors[0].notAfter;
  expect(
    recordExternalSigning(state, { notAfter: instant(T0 + 9000 * day), isUnseen: true })?.generations,
  ).toMatchObject([{ lentUntil: end, unseenUntil: end }]);
});

test('a step that was decided before a leaf was remembered keeps that leaf', () => {
  const state = begun();
  const raised =
    recordExternalSigning(state, { notAfter: instant(T0 + day), isUnseen: true }) ??
    expect.fail('not raised');
  const stepped = { ...state, revision: state.revision + 1 };
  expect(withExternalDates(stepped, raised).generations).toEqual(raised.generations);
  expect(withExternalDates(raised, state).generations).toEqual(raised.generations);
});
