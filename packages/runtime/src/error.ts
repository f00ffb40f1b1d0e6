import { HandoverError } from '@handover/material';
import type { RuntimeErrorCode } from './error-code.ts';

export type { RuntimeErrorCode } from './error-code.ts';

/** HandoverError with the codes of this package: another code does not compile. */
export const RuntimeError = HandoverError<RuntimeErrorCode>;
