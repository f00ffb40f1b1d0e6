import type { Asker, IssuanceLog } from './issued-entry.ts';

/** Something that was asked for. */
export type Asked =
  | { readonly kind: 'Leaf'; readonly id: string }
  | { readonly kind: 'Authority'; readonly id: string }
  | { readonly kind: 'rotate'; readonly authority: string; readonly id: string }
  | { readonly kind: 'distrust'; readonly authority: string; readonly generation: number };

/** What a home knows about who asked; `uid`: of the object that asks, where objects have one. */
export interface Known {
  readonly askedBy?: Asker | undefined;
  readonly uid?: string | undefined;
}

/** Where a home writes down what it issues, and what it knows about who asked for it and who does it. */
export interface Ledger extends IssuanceLog {
  known(asked: Asked): Known;
  /** This process, by the name that histories call it. */
  readonly self: string;
}
