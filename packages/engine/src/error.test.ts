import { expect, test } from 'vitest';
import { EngineError, isCode } from './error.ts';

test('a misspelt code compiles neither where it is thrown nor where it is compared', () => {
  // @ts-expect-error
  const misspelt = new EngineError('CONFLIKT', 'no such code');
  // @ts-expect-error
  expect(isCode(misspelt, 'CONFLIKT')).toBe(true);
  expect(isCode(misspelt, 'CONFLICT', 'HOME_LOCKED')).toBe(false);
  expect(isCode(new EngineError('HOME_LOCKED', 'held'), 'CONFLICT', 'HOME_LOCKED')).toBe(true);
  expect(isCode(new Error('CONFLICT'), 'CONFLICT')).toBe(false);
});
