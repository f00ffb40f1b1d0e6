import { type Condition, type ForeignBundleSpec, parseForeignBundle, TRUST_MANAGER } from '@handover/core';
import { type KubeObject, kindOf } from '@handover/kube';
import { HandoverError, type Instant, printable } from '@handover/material';

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
    if (error instanceof HandoverError) return error.message;
    throw error;
  }
};

export const bundleSeen = ({ metadata, spec, status }: KubeObject): BundleSeen => {
  const { name = '', uid = '', generation = 0, deletionTimestamp } = metadata;
  return {
    name,
    uid,
    generation,
    going: deletionTimestamp !== undefined,
    spec: specOf(name, spec),
    status: (status as BundleStatus | undefined) ?? {},
  };
};

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
        lastTransitionTime:
          before?.status === status
            ? before.lastTransitionTime
            : new Date(now).toISOString().replace(/\.\d+Z$/, 'Z'),
      },
    ],
    ...(version === undefined ? {} : { defaultCAVersion: version }),
  };
};
