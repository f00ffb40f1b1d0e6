import { type AuthorityState, type Generation, ROLES } from '@handover/core';
import { type Certificate, HandoverError, isMap, PrivateKey, parseCertificates } from '@handover/material';
import { EngineError, type EngineErrorCode } from '../error.ts';
import { readHistory } from '../ledger/history.ts';
import type { AuthorityId, AuthorityRecord } from './home.ts';
import type { KeyRef } from './keyring.ts';
import { LocalKey, pemOf } from './local-key.ts';
import { SealKey } from './seal.ts';

const FORMAT = 'handover.dev/authority/1';

export const formatAuthority = (
  id: AuthorityId,
  { state, certificates, keys, sealKey, history = [] }: AuthorityRecord,
): string =>
  `${JSON.stringify(
    {
      format: FORMAT,
      authority: id,
      state,
      certificates: [...certificates.values()].map(({ pem }) => pem),
      keys: Object.fromEntries([...keys].map(([number, key]) => [number, pemOf(key)])),
      sealKey: sealKey.export(),
      ...(history.length === 0 ? {} : { history }),
    },
    null,
    1,
  )}\n`;

const isNumber = (value: unknown): value is number => typeof value === 'number' && Number.isFinite(value);
const isRole = (value: unknown): boolean => ROLES.some((role) => role === value);

const isAnchor = (value: unknown): boolean =>
  isMap(value) &&
  typeof value.fingerprint === 'string' &&
  isNumber(value.notBefore) &&
  isNumber(value.notAfter);

const isIssuedElsewhere = (value: unknown): boolean =>
  isMap(value) &&
  Array.isArray(value.objects) &&
  value.objects.every((object) => typeof object === 'string') &&
  (value.until === undefined || isNumber(value.until)) &&
  (value.unnamedUntil === undefined || isNumber(value.unnamedUntil));

const isGeneration = (value: unknown): value is Generation =>
  isMap(value) &&
  isNumber(value.number) &&
  isRole(value.role) &&
  typeof value.hasKey === 'boolean' &&
  isNumber(value.since) &&
  (value.lentUntil === undefined || isNumber(value.lentUntil)) &&
  (value.unseenUntil === undefined || isNumber(value.unseenUntil)) &&
  (value.stoppedAt === undefined || isNumber(value.stoppedAt)) &&
  (value.podsUntil === undefined || isNumber(value.podsUntil)) &&
  (value.namedInStamps === undefined || value.namedInStamps === true) &&
  (value.elsewhere === undefined || isIssuedElsewhere(value.elsewhere)) &&
  Array.isArray(value.anchors) &&
  value.anchors.length > 0 &&
  value.anchors.every(isAnchor);

const isState = (value: unknown): value is AuthorityState =>
  isMap(value) &&
  isNumber(value.revision) &&
  isNumber(value.distrusts) &&
  isNumber(value.lastGeneration) &&
  Array.isArray(value.ids) &&
  value.ids.every((id) => typeof id === 'string') &&
  Array.isArray(value.generations) &&
  value.generations.every(isGeneration) &&
  Array.isArray(value.crosses) &&
  value.crosses.every(
    (cross) =>
      isMap(cross) && isNumber(cross.of) && isNumber(cross.by) && typeof cross.fingerprint === 'string',
  );

/** Reads an authority's file. Whatever is not whole and its own is refused: guessing here would rotate by accident. */
export function parseAuthority(id: AuthorityId, text: string, path: string): AuthorityRecord {
  const refuse = (code: EngineErrorCode, why: string): never => {
    throw new EngineError(code, `${path} ${why}`, { path });
  };
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return refuse(
      'STATE_UNREADABLE',
      'is not JSON; restore it from a backup, or move it away to start from the certificates in use',
    );
  }
  if (!isMap(value) || value.format !== FORMAT || !isState(value.state)) {
    return refuse(
      'STATE_UNREADABLE',
      'is not the state of an authority of this version; restore it from a backup',
    );
  }
  if (value.authority !== id) {
    return refuse(
      'STATE_FOREIGN',
      `is the state of ${String(value.authority).slice(0, 320)}, not of ${id}; put it where it belongs`,
    );
  }
  const certificates = new Map<string, Certificate>();
  const keys = new Map<number, KeyRef>();
  try {
    for (const pem of Array.isArray(value.certificates) ? value.certificates : [])
      for (const certificate of parseCertificates(String(pem)).certificates)
        certificates.set(certificate.fingerprint, certificate);
    for (const [number, pem] of Object.entries(isMap(value.keys) ? value.keys : {}))
      keys.set(
        Number(number),
        new LocalKey(PrivateKey.parse(String(pem), `${path}, key of generation ${number}`)),
      );
  } catch (error) {
    if (!(error instanceof HandoverError)) throw error;
    return refuse('STATE_UNREADABLE', `holds damaged material: ${error.message}`);
  }
  const { state } = value;
  const newest = [...keys].sort(([a], [b]) => b - a)[0];
  // A state from before there were seals has none: its next change keeps the one that follows from its newest key.
  const sealKey =
    value.sealKey === undefined
      ? SealKey.derivedFrom(newest === undefined ? text : pemOf(newest[1]))
      : SealKey.parse(String(value.sealKey));
  if (sealKey === undefined)
    return refuse('STATE_UNREADABLE', 'holds a damaged seal key; restore it from a backup');
  for (const generation of state.generations) {
    const ca = certificates.get(generation.anchors[0].fingerprint);
    if (generation.anchors.some(({ fingerprint }) => !certificates.has(fingerprint)) || ca === undefined)
      return refuse(
        'STATE_INCOMPLETE',
        `lacks a certificate of CA generation ${generation.number}; restore it from a backup`,
      );
    const signs = generation.hasKey && generation.role !== 'distrusted';
    if (signs && keys.get(generation.number)?.matches(ca) !== true)
      return refuse(
        'STATE_INCOMPLETE',
        `lacks the key of generation ${generation.number}; restore it from a backup`,
      );
  }
  return { state, certificates, keys, sealKey, history: readHistory(value.history) };
}
