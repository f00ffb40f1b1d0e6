import {
  Contended,
  MOST_NAMED,
  type ProfilePlan,
  type TlsProfileResourceStatus,
  waitingText,
} from '@handover/core';
import type { ProfileOutcome } from '@handover/engine';
import { HandoverError, type Instant, type ResolvedTlsProfile } from '@handover/material';
import type { Declared } from '../resources/declared.ts';
import { type AnyStatus, conditionsOf, verdict } from './status.ts';

/** Why a profile is not honoured, for machines; whatever else: it is refused for what it asks. */
const REASONS: Readonly<Record<string, string>> = {
  TLS_PROFILE_SOURCE_MISSING: 'SourceMissing',
  TLS_PROFILE_SOURCE_FORBIDDEN: 'SourceForbidden',
  TLS_PROFILE_SOURCE_UNAVAILABLE: 'SourceUnavailable',
};

const readyOf = ({ resolved, obstacle }: ProfileOutcome) => {
  if (resolved instanceof HandoverError)
    return verdict(
      'Ready',
      false,
      REASONS[resolved.code] ?? 'TLSProfileRefused',
      `${resolved.code}: ${resolved.message}; the files from before stay`,
    );
  if (obstacle !== undefined)
    return verdict(
      'Ready',
      false,
      obstacle instanceof Contended ? 'Contended' : 'ConfigMapNotOurs',
      String(obstacle),
    );
  return verdict('Ready', true, 'Written', 'the TLS profile is written');
};

const degradedOf = ({ resolved, stale }: ProfileOutcome) => {
  if (resolved instanceof HandoverError)
    return verdict('Degraded', true, REASONS[resolved.code] ?? 'TLSProfileRefused', resolved.message);
  const problems = resolved.warnings.map(({ message }) => message);
  if (stale !== undefined) {
    const kept = `${stale.message}; the last profile that was read stays in force`;
    return verdict(
      'Degraded',
      true,
      REASONS[stale.code] ?? 'SourceUnavailable',
      [kept, ...problems].join('; '),
    );
  }
  return problems.length === 0
    ? verdict('Degraded', false, 'Honored', 'the whole TLS profile is honoured')
    : verdict('Degraded', true, 'TLSProfileNotFullyHonored', problems.join('; '));
};

const rolledOutOf = ({ waiting, notes, actions }: ProfilePlan) => {
  if (waiting.length > 0) return verdict('RolledOut', false, 'Waiting', waitingText(waiting));
  if (actions.length > 0) return verdict('RolledOut', false, 'Rolling', 'pods are being replaced');
  const [note] = notes;
  return verdict(
    'RolledOut',
    true,
    'NothingWaitedFor',
    note === undefined ? 'no workload has to be restarted' : `${note.object}: ${note.message}`,
  );
};

const notMountedIn = ({ unread }: ProfilePlan): Pick<TlsProfileResourceStatus, 'notMounted'> =>
  unread.length === 0 ? {} : { notMounted: { count: unread.length, workloads: unread.slice(0, MOST_NAMED) } };

const FEW = 3;

/** Often as it should be, so no reason to be Degraded: not every workload of a namespace serves TLS. */
const notMountedOf = ({ unread }: ProfilePlan, configMap: string) => {
  if (unread.length === 0)
    return verdict('NotMounted', false, 'None', `every selected workload mounts ConfigMap ${configMap}`);
  const more = unread.length > FEW ? ` and ${unread.length - FEW} more` : '';
  return verdict(
    'NotMounted',
    true,
    'NotRestarted',
    `${unread.slice(0, FEW).join(', ')}${more}: selected, but without ConfigMap ${configMap} in the pod template, and so never restarted for this profile; mount it, or narrow workloadSelector`,
  );
};

const contendedOf = ({ contended }: ProfilePlan) => {
  const lines = contended.slice(0, FEW).map(({ object, message }) => `${object}: ${message}`);
  const more = contended.length > FEW ? [`and ${contended.length - FEW} more`] : [];
  return contended.length === 0
    ? []
    : [verdict('Contended', true, 'ForeignManager', [...lines, ...more].join('; '))];
};

/** What is in force: of a profile that is refused, what was written before it. */
const inForce = (
  declared: Declared,
  { resolved, hash }: ProfileOutcome,
): Pick<TlsProfileResourceStatus, 'type' | 'hash' | 'minTLSVersion'> => {
  const { type, minTLSVersion } = (declared.status ?? {}) as TlsProfileResourceStatus;
  const { profile, hash: wanted } =
    resolved instanceof HandoverError ? ({} as Partial<ResolvedTlsProfile>) : resolved;
  const now = wanted !== undefined && wanted === hash ? profile : undefined;
  return {
    ...given('type', now?.type ?? type),
    ...given('hash', hash ?? (declared.status as TlsProfileResourceStatus | undefined)?.hash),
    ...given('minTLSVersion', now?.minTLSVersion ?? minTLSVersion),
  };
};

const given = <Name extends string>(name: Name, value: string | undefined): Partial<Record<Name, string>> =>
  value === undefined ? {} : ({ [name]: value } as Record<Name, string>);

export const statusOfProfile = (
  declared: Declared,
  configMap: string,
  outcome: ProfileOutcome,
  now: Instant,
): AnyStatus => {
  const { resolved, plan } = outcome;
  const problems =
    resolved instanceof HandoverError
      ? [resolved.message]
      : resolved.warnings.map(({ message }) => message.slice(0, 1_000));
  return {
    ...inForce(declared, outcome),
    problems: problems.slice(0, MOST_NAMED),
    ...notMountedIn(plan),
    observedGeneration: declared.generation,
    conditions: conditionsOf(
      declared,
      [
        readyOf(outcome),
        degradedOf(outcome),
        rolledOutOf(plan),
        notMountedOf(plan, configMap),
        ...contendedOf(plan),
      ],
      now,
    ),
  };
};
