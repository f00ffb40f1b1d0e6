import { HandoverError } from '@handover/material';

export type SimErrorCode = 'CONFLICT' | 'HOME_AWAY' | 'HOME_TIMEOUT';

/** HandoverError with the codes of this package: another code does not compile. */
export const SimError = HandoverError<SimErrorCode>;
