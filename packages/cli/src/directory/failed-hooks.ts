import { sentenceOf } from '@handover/core';
import { type HookStatus, hookLine } from '@handover/engine';
import { printable } from '../printable.ts';

/** What a command that changed files says of hooks whose last run failed. */
export const failedHookLines = (hooks: readonly HookStatus[]): readonly string[] =>
  hooks.filter(({ state }) => state === 'failed').map((hook) => printable(sentenceOf(hookLine(hook))));
