import { type Condition, type ForeignBundleSpec, parseForeignBundle, TRUST_MANAGER } from '@handover/core';
import { type KubeObject, kindOf } from '@handover/kube';
import { HandoverError, type Instant, isoSeconds, printable } from '@handover/material';
import { cut } from '../../cache/bounds.ts';
import { Projection, sizeOf } from '../../cache/projection.ts';

export const bundles = kindOf(`${TRUST_MANAGER.group}/v1alpha1`, 'bundles', 'Bundle', false);

export interface BundleStatus {
  readonly conditions?: readonly Condition[];
  readonly defaultCAVersion?: string;
}

/** A Bundle, read at the border. */
export interface BundleSeen {
  readonly name: string;
  readonly uid: string;
  readonly generation: number;
  readonly going: boolean;
  /** Or what is wrong in it. */
  readonly spec: ForeignBundleSpec | string;
  readonly status: BundleStatus;
}

const specOf = (name: string, spec: unknown): ForeignBundleSpec | string => {
  try {
    return parseForeignBundle(name, spec);
  } catch (error) {
    if (error instanceof HandoverError) return cut(error.message, MOST_TEXT);
    throw error;
  }
};

const MOST_STATUS = 32 * 1_024;
/** One that is larger is not ours, and is written again. */
const statusIn = (status: unknown): BundleStatus =>
  Number.isFinite(sizeOf(status, MOST_STATUS)) ? ((status as BundleStatus | undefined) ?? {}) : {};

export const bundleSeen = ({ metadata, spec, status }: KubeObject): BundleSeen => {
  const { name = '', uid = '', generation = 0, deletionTimestamp } = metadata;
  return {
    name,
    uid,
    generation,
    going: deletionTimestamp !== undefined,
    spec: specOf(name, spec),
    status: statusIn(status),
  };
};

/** Only administrators make Bundles. Certificates may stand in them. */
export const BUNDLES = new Projection('Bundle', { keep: bundleSeen, most: 2 * 1_024 * 1_024 });

export interface Outcome {
  readonly synced: boolean;
  /** As trust-manager's, where it has one for the case. */
  readonly reason: string;
  readonly message: string;
  /** undefined: it stays as it was. */
  readonly defaultCaVersion: { readonly now: string | undefined } | undefined;
}

const MOST_TEXT = 2_000;

/** What to write into the status; undefined: nothing has changed. A good state in other words than ours is left as it is. */
export const statusFor = (bundle: BundleSeen, outcome: Outcome, now: Instant): BundleStatus | undefined => {
  const { synced, reason, defaultCaVersion } = outcome;
  const { conditions = [], defaultCAVersion: versionBefore } = bundle.status;
  const version = defaultCaVersion === undefined ? versionBefore : defaultCaVersion.now;
  const before = conditions.find(({ type }) => type === 'Synced');
  const message = printable(outcome.message.slice(0, MOST_TEXT));
  const status = synced ? 'True' : 'False';
  if (
    before?.status === status &&
    before.reason === reason &&
    before.observedGeneration === bundle.generation &&
    (synced || before.message === message) &&
    version === versionBefore
  )
    return undefined;
  return {
    conditions: [
      {
        type: 'Synced',
        status,
        reason,
        message,
        observedGeneration: bundle.generation,
        lastTransitionTime: before?.status === status ? before.lastTransitionTime : isoSeconds(now),
      },
    ],
    ...(version === undefined ? {} : { defaultCAVersion: version }),
  };
};
