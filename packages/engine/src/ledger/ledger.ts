import type { Asked, Known } from './asker.ts';
import type { IssuanceLog } from './issued-entry.ts';

/** Where a home writes down what it issues, and what it knows about who asked for it and who does it. */
export interface Ledger extends IssuanceLog {
  known(asked: Asked): Known;
  /** This process, by the name that histories call it. */
  readonly self: string;
}
