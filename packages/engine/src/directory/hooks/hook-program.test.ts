import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryFolder } from '@handover/test-api-server';
import { beforeEach, describe, expect, test } from 'vitest';
import { diskFiles } from '../disk/files.ts';
import { hookProgram } from './hook-program.ts';

const root = temporaryFolder();
let count = 0;
let dir: string;
beforeEach(() => {
  dir = join(root, String(++count));
  mkdirSync(join(dir, 'bin'), { recursive: true, mode: 0o755 });
});

/** A program that its owner alone may write. */
const script = (name: string, firstLine: string): string => {
  const path = join(dir, name);
  writeFileSync(path, `${firstLine}\nexit 0\n`);
  chmodSync(path, 0o755);
  return path;
};
const found = (hook: string): string | undefined =>
  hookProgram(diskFiles, hook, dir, process.getuid?.(), `${dir}/bin:/usr/bin:/bin`);

describe.each([
  ['by its path', () => `#!${dir}/bin/interp`],
  ['with a word for it', () => `#! ${dir}/bin/interp -e`],
  ['by a path from the working directory', () => '#!bin/interp'],
  ['through env', () => '#!/usr/bin/env interp'],
  ['through env, with options and variables', () => '#!/usr/bin/env -S -i A=1 interp -e'],
  ['through another script', () => `#!${script('middle', `#!${dir}/bin/interp`)}`],
])('A script that names its interpreter %s', (how, firstLine) => {
  test(`a script that names its interpreter ${how} is run while no other user can change the interpreter, and refused when one can`, () => {
    const interpreter = script('bin/interp', '#!/bin/sh');
    const hook = script('hook', firstLine());
    expect(found(hook)).toBe(hook);
    chmodSync(interpreter, 0o777);
    expect(() => found(hook)).toThrow(`${interpreter} can be changed by other users (mode 0777)`);
  });
});

test('A script that names itself as its interpreter is left to the system', () => {
  const hook = script('hook', `#!${dir}/hook`);
  expect(found(hook)).toBe(hook);
});
