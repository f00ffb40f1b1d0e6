import type { AuthorityStatus, IssuedEntry } from '@handover/engine';
import { code, page, table } from './markdown.ts';

/** Typed by the entry itself: a field without a description does not compile. */
const FIELDS = {
  at: 'When it was issued, by the clock of the home.',
  kind: '`ca`, `cross` (a cross-certificate), `leaf`, or `canary`: a client certificate of ten minutes without names, which tests whether a server trusts a CA.',
  authority: '`namespace/name` of the Authority.',
  generation: 'The CA generation that signed it; for a CA, its own.',
  certifies: 'For a cross-certificate: the CA generation that it certifies.',
  serial: 'Hex.',
  fingerprint: 'SHA-256 of the certificate, hex.',
  subject: 'In the notation of RFC 4514.',
  dnsNames: 'Subject alternative names.',
  ipAddresses: 'Subject alternative names.',
  uris: 'Subject alternative names.',
  usages: 'Extended key usages of a leaf, key usages of a CA.',
  notBefore: 'ISO 8601.',
  notAfter: 'ISO 8601.',
  for: 'The object that it was issued for: `kind`, `namespace`, `name`, and in a cluster `uid`.',
  askedBy:
    '`via`: `resource`, `annotation`, `request` (a command) or `schedule`. On one machine the `user` and `uid` of the process that requested it. In a cluster `manager`: the client’s name in `managedFields`; the API server’s audit log has the user.',
  why: 'Why, in a sentence.',
} as const satisfies Record<keyof IssuedEntry, string>;

const STEP = {
  at: 'When the step was taken.',
  step: '`mint`, `activate`, `retire`, `distrust` or `distrust-done`.',
  generations: 'The CA generations concerned.',
  replacement: 'For a distrust: the CA generation that signs from then on.',
  rotation: 'Id of the rotation.',
  askedBy: 'As above, on the step that started the rotation.',
  why: 'Why, in a sentence.',
  takenBy: 'The process that took it: the identity in the operator’s Lease, or process and host.',
  evidence:
    'What opened the gate: `consumer`, `by` (the kind of evidence; `none`: the step did not wait for it), `at`. The first 50; old steps keep only the counts.',
  counts: 'Number of consumers per kind of evidence.',
  revision: 'Revision of the state that the step wrote.',
} as const satisfies Record<keyof NonNullable<AuthorityStatus['history']>[number], string>;

const rows = (fields: Readonly<Record<string, string>>): readonly (readonly string[])[] =>
  Object.entries(fields).map(([field, meaning]) => [code(field), meaning]);

export const issuedPage = (): string =>
  page(
    'Issuance log and history',
    'Where they are and how to read them: [monitoring](../recipes/monitoring.md#which-certificates-were-issued).',
    '## An entry of the issuance log',
    'One JSON document per line and certificate. The operator’s lines have `level` and `event: "issued"` as well.',
    table(['field', 'meaning'], rows(FIELDS)),
    '## A step in the history of an Authority',
    'In `handover status AUTH --json`, under `history`, oldest first: the last 50 steps, 64 KiB at most.',
    table(['field', 'meaning'], rows(STEP)),
  );
