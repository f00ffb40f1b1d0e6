import type { Responsibilities } from '../look/responsibilities.ts';
import type { ProbeTarget } from './probe.ts';
import type { StatusPlace } from './status-document.ts';

export type Declared = Responsibilities['authority']['spec']['consumers'][number];

/** A process behind what an Authority declares, and where it is asked. */
export interface Endpoint {
  /** Of the pod that it is; undefined: it is the consumer itself. */
  readonly uid?: string | undefined;
  readonly status?: StatusPlace | undefined;
  readonly probe?: Omit<ProbeTarget, 'authority'> | undefined;
}

/** `refused`: why it is asked nowhere. */
export type Whereabouts =
  | { readonly endpoints: readonly Endpoint[] }
  /** Says what to do, too. */
  | { readonly refused: string };

/** Where the consumers of an authority are asked; called once for each look. */
export type Locator = (responsibilities: Responsibilities) => (consumer: Declared) => Promise<Whereabouts>;

/** On one machine: where its owner says. */
export const asDeclared: Locator =
  () =>
  async ({ status, probe }) => ({ endpoints: [{ status, probe }] });
