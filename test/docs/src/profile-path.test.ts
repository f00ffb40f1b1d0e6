import { TLS_PROFILE_PATH } from '@handover/runtime';
import { expect, test } from 'vitest';
import { textOf } from './documents.ts';

test('the recipe mounts a TLS profile where Node and Go programs look for it', () => {
  const [, mounted] =
    /\{ name: tls-profile, mountPath: (\S+) \}/.exec(textOf('docs/recipes/tls-profile.md')) ?? [];
  expect(`${mounted}/profile.json`).toBe(TLS_PROFILE_PATH);
  const [, inGo] = /^const Path = "(.*)"$/m.exec(textOf('clients/go/profile/profile.go')) ?? [];
  expect(inGo).toBe(TLS_PROFILE_PATH);
});
