import type { Asker, IssuanceLog } from './issued-entry.ts';

/** What a user or a resource asked for. */
export type Asked =
  | { readonly kind: 'Leaf'; readonly id: string }
  | { readonly kind: 'Authority'; readonly id: string }
  | { readonly kind: 'rotate'; readonly authority: string; readonly id: string }
  | { readonly kind: 'distrust'; readonly authority: string; readonly generation: number };

/** What a home knows about the origin of a request; `uid`: of the object that asks, where objects have one. */
export interface Known {
  readonly askedBy?: Asker | undefined;
  readonly uid?: string | undefined;
}

/** Records what a home issues, the origin of each request, and the process that carries it out. */
export interface Ledger extends IssuanceLog {
  known(asked: Asked): Known;
  /** This process, as histories name it. */
  readonly self: string;
}
