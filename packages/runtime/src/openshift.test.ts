import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryFolder } from '@handover/test-api-server';
import { beforeEach, describe, expect, test } from 'vitest';
import { isOpenShift } from './openshift.ts';

let folder: string;
beforeEach(() => {
  folder = temporaryFolder();
});
const fact = (text: string): void => writeFileSync(join(folder, 'IS_OPENSHIFT'), text);

describe('S1.3 the mounted platform facts', () => {
  test.each([
    ['true', true],
    ['false', false],
    ['True', false],
    ['1', false],
    ['true\n', false],
    ['true but longer', false],
    ['', false],
  ])('platform facts with %j mean %s', (text, means) => {
    fact(text);
    expect(isOpenShift({}, folder)).toBe(means);
  });

  test('platform facts are read only when the environment says nothing', () => {
    fact('true');
    for (const value of ['false', 'True', '1', ''])
      expect(isOpenShift({ IS_OPENSHIFT: value }, folder)).toBe(false);
    fact('false');
    expect(isOpenShift({ IS_OPENSHIFT: 'true' }, folder)).toBe(true);
  });

  test('platform facts that are not mounted mean false', () => {
    expect(isOpenShift({}, folder)).toBe(false);
    expect(isOpenShift({}, join(folder, 'nowhere'))).toBe(false);
  });

  test('platform facts that cannot be read are an error that names the path, not a guess', () => {
    mkdirSync(join(folder, 'IS_OPENSHIFT'));
    expect(() => isOpenShift({}, folder)).toThrow(
      expect.objectContaining({ code: 'FILE_NOT_REGULAR', path: join(folder, 'IS_OPENSHIFT') }),
    );
  });
});
