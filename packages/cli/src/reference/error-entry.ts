import type { CoreErrorCode } from '@handover/core';
import type { DashboardErrorCode } from '@handover/dashboard';
import type { EngineErrorCode } from '@handover/engine';
import type { InstallErrorCode } from '@handover/install';
import type { KubeErrorCode } from '@handover/kube';
import type { MaterialErrorCode, TlsProfileWarning } from '@handover/material';
import type { OperatorErrorCode } from '@handover/operator';
import type { RuntimeErrorCode } from '@handover/runtime/error';
import type { CliErrorCode } from '../error.ts';

/** Every code that a user can see. INTERNAL stands for what is no HandoverError (error-line.ts). */
export type DocumentedCode =
  | CliErrorCode
  | CoreErrorCode
  | DashboardErrorCode
  | EngineErrorCode
  | InstallErrorCode
  | KubeErrorCode
  | MaterialErrorCode
  | OperatorErrorCode
  | RuntimeErrorCode
  | TlsProfileWarning['code']
  | 'INTERNAL'
  | 'UNFINISHED';

export interface ErrorEntry {
  readonly means: string;
  readonly todo: string;
}

export const entry = (means: string, todo: string): ErrorEntry => ({ means, todo });
