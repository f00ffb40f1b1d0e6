import { HandoverError } from '@handover/material';

export type InstallErrorCode = 'INSTALL_OPTION' | 'SCHEMA_NOT_STRUCTURAL';

/** HandoverError with the codes of this package: another code does not compile. */
export const InstallError = HandoverError<InstallErrorCode>;
