import type { ClusterRecord } from './record.ts';

export interface ProcessSpec {
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  readonly log: string;
}

export type Request =
  | { readonly op: 'start'; readonly spec: ProcessSpec }
  | { readonly op: 'stop'; readonly name: string; readonly signal: NodeJS.Signals }
  | { readonly op: 'record'; readonly change: Partial<Pick<ClusterRecord, 'files' | 'cgroups'>> }
  /** A process that is not the keeper's child but must end with the cluster. */
  | { readonly op: 'adopt'; readonly name: string; readonly pid: number }
  /** The keeper stays when its parent ends: `cluster up`. */
  | { readonly op: 'stay' }
  | { readonly op: 'end' };

export type FromKeeper =
  | { readonly kind: 'answer'; readonly id: number; readonly pid?: number; readonly error?: string }
  | {
      readonly kind: 'exit';
      readonly name: string;
      readonly pid: number;
      readonly code: number | null;
      readonly signal: string | null;
    };

export type ToKeeper = { readonly id: number; readonly request: Request };

/** First argument of the keeper's program. */
export interface KeeperArguments {
  readonly recordPath: string;
  readonly record: Omit<ClusterRecord, 'keeper' | 'processes'>;
}
