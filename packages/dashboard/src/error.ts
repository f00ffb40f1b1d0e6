import { HandoverError } from '@handover/material';

export type DashboardErrorCode = 'PORT_TAKEN';

/** HandoverError with the codes of this package: another code does not compile. */
export const DashboardError = HandoverError<DashboardErrorCode>;
