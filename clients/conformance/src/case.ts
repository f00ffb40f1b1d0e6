import { readFileSync } from 'node:fs';

/** Files by name; each is the text of its parts, one after the other (`material.ts`). */
export type Files = Readonly<Record<string, readonly string[]>>;

/** What the status document says. */
export interface Shows {
  readonly leaf: string;
  /** What is sent behind the leaf; a client need not say it. */
  readonly chain?: readonly string[];
  readonly anchors: readonly string[];
  /** Code of `lastFailure`. Left out: there is no failure. */
  readonly failure?: string;
  /** Least and most loads. */
  readonly loads?: readonly [number, number];
}

/** How a handshake ends: refused, or with the client's leaf that the peer saw. */
interface End {
  readonly refused?: true;
  readonly seen?: string;
}

/** The runner connects to the client's server. */
export interface Connect extends End {
  readonly as: string;
  readonly trusts: readonly string[];
  /** Keep the session of this connection for later, or offer the one that was kept. */
  readonly session?: 'keep' | 'use';
}

/** The client connects to a server of the runner. */
export interface Dial extends End {
  readonly serves: string;
  readonly accepts: readonly string[];
}

export interface Repeat {
  readonly times: number;
  readonly everyMs: number;
  /** `{n}` stands for the number of the swap, from 1. */
  readonly swap: Files;
  /** Connections that are made all the while; each must work. */
  readonly meanwhile: Connect;
}

export type Step =
  | { readonly swap: Files }
  | { readonly rename: Files }
  | { readonly write: Files }
  | { readonly pipe: string }
  | { readonly folder: 'remove' | 'make' }
  | { readonly open: string }
  | { readonly shows: Shows }
  | { readonly connect: Connect }
  | { readonly dial: Dial }
  | { readonly repeat: Repeat };

export interface Case {
  readonly name: string;
  readonly steps: readonly Step[];
}

export const cases: readonly Case[] = JSON.parse(
  readFileSync(new URL('../cases.json', import.meta.url), 'utf8'),
);
