import type { Responsibilities } from '../snapshot/responsibilities.ts';
import type { ProbeTarget } from './probe.ts';
import type { ProbeCommand } from './probe-command.ts';
import type { HttpAddress, StatusAddress } from './status-document.ts';

export type DeclaredConsumer = Responsibilities['authority']['spec']['consumers'][number];

/** Whether its owner says where it shows what it has loaded. */
export const isAsked = ({ status, metrics, probe }: DeclaredConsumer): boolean =>
  [status, metrics, probe].some((way) => way !== undefined);

/** One process of a declared consumer, and where it is asked. */
export interface Endpoint {
  /** UID of its pod; undefined: it is the consumer itself. */
  readonly uid?: string | undefined;
  readonly status?: StatusAddress | undefined;
  readonly metrics?: HttpAddress | undefined;
  readonly probe?: Omit<ProbeTarget, 'authority'> | undefined;
  readonly command?: ProbeCommand | undefined;
}

export type Whereabouts =
  | { readonly endpoints: readonly Endpoint[] }
  /** Why it is not asked, and the remedy. */
  | { readonly refused: string };

/** Where the consumers of an authority are asked; called once for each look. */
export type Locator = (
  responsibilities: Responsibilities,
) => (consumer: DeclaredConsumer) => Promise<Whereabouts>;
