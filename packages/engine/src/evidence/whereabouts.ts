import type { Responsibilities } from '../look/responsibilities.ts';
import type { ProbeTarget } from './probe.ts';
import type { StatusAddress } from './status-document.ts';

export type DeclaredConsumer = Responsibilities['authority']['spec']['consumers'][number];

/** One process of a declared consumer, and where it is asked. */
export interface Endpoint {
  /** UID of its pod; undefined: it is the consumer itself. */
  readonly uid?: string | undefined;
  readonly status?: StatusAddress | undefined;
  readonly probe?: Omit<ProbeTarget, 'authority'> | undefined;
}

export type Whereabouts =
  | { readonly endpoints: readonly Endpoint[] }
  /** Why it is not asked, and the remedy. */
  | { readonly refused: string };

/** Where the consumers of an authority are asked; called once for each look. */
export type Locator = (
  responsibilities: Responsibilities,
) => (consumer: DeclaredConsumer) => Promise<Whereabouts>;
