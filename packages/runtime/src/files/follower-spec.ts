import type { Instant } from '@handover/material';
import type { ResolvedFollowOptions } from '../options.ts';
import type { CutEvent, ExpiryEvent, KeptEvent, ReloadedEvent } from '../outcome.ts';
import type { Validity } from './expiry.ts';
import type { FileContents } from './read-files.ts';

export interface Material {
  readonly hash: string;
}

/**
 * Events of what follows its files, by name.
 *
 * @example
 * ```ts
 * import type { FollowerEvents } from '@handover/runtime';
 *
 * const bad = ['kept', 'expiring', 'expired'] as const satisfies readonly (keyof FollowerEvents)[];
 * for (const name of bad) identity.on(name, ({ path }) => console.error(`${path}: ${name}`));
 * ```
 */
export interface FollowerEvents {
  /** New material is in use. */
  reloaded: ReloadedEvent;
  /** New files could not be used. */
  kept: KeptEvent;
  /** Connections in use were ended. */
  cut: CutEvent;
  /** The last tenth of the leaf's life has begun. */
  expiring: ExpiryEvent;
  /** The leaf in use has expired. */
  expired: ExpiryEvent;
}

/** Names of all events. */
export const EVENTS = [
  'reloaded',
  'kept',
  'cut',
  'expiring',
  'expired',
] as const satisfies (keyof FollowerEvents)[];

export interface FollowerSpec<Label extends string, Value extends Material> {
  readonly files: Readonly<Record<Label, string>>;
  readonly maxBytes: number;
  /** Reads contents from memory instead of files; the caller calls `reload`. `files` are then names for messages. */
  readonly read?: (() => FileContents<Label>) | undefined;
  /** Builds the whole replacement, or throws. */
  readonly load: (contents: FileContents<Label>, now: Instant) => Value;
  /** True: events carry no hash of the material, and their type says so. */
  readonly isSecret?: boolean;
  /** When the certificate that this process shows is valid. */
  readonly validity?: (value: Value) => Validity;
  readonly options: ResolvedFollowOptions;
}

export interface Loaded<Value> {
  readonly value: Value;
  /** 1 for the first load, +1 for each change since. */
  readonly loads: number;
  readonly loadedAt: Instant;
}
