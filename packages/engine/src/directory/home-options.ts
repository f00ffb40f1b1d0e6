import type { KeySource } from '@handover/core';
import type { Clock } from '@handover/material';
import type { Meters } from '../snapshot/meters.ts';
import type { EvidenceSource, HomeClock } from '../snapshot/snapshot.ts';
import type { Files } from './disk/files.ts';
import type { UntrustedFiles } from './disk/untrusted-files.ts';
import type { HookTimes } from './hooks/hook-ways.ts';
import type { ResolveName } from './resources/addresses.ts';
import type { LockTimes } from './state/lock.ts';

export interface DirectoryOptions {
  /** Waits and deadlines go by it. Deadlines of child processes are real time. */
  readonly timers: Clock;
  readonly files?: Files;
  readonly far?: UntrustedFiles;
  /** What certificates are dated by. Default: the wall clock of `timers`, compared with the time since boot. */
  readonly clock?: HomeClock;
  readonly keys?: KeySource;
  readonly evidence?: EvidenceSource;
  /** How long hooks may take. */
  readonly hookTimes?: HookTimes | undefined;
  readonly trustNamespace?: string;
  /** Default: the resolver of this machine. */
  readonly resolveName?: ResolveName;
  readonly meters?: Meters | undefined;
  /** The user we run as; undefined: owners of files are not looked at. */
  readonly uid?: number | undefined;
  /** When the lock is shown to be held, and when that of another is believed to be left behind. */
  readonly lock?: LockTimes | undefined;
}
