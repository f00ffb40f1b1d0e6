/** Parts that only some installations want, each with rights of its own. */
export type Feature = 'service-ca' | 'openshift' | 'metrics-auth' | 'pod-certificates';

/**
 * Where a right is needed. `watched`: in every namespace the operator looks at, which is all of them unless it is told
 * otherwise. `cluster`: about objects without a namespace. `own`: in the namespace it runs in.
 */
export type Reach = 'watched' | 'cluster' | 'own';

export interface Row {
  readonly reach: Reach;
  readonly group: string;
  readonly resources: readonly string[];
  readonly verbs: readonly string[];
  readonly names?: readonly string[];
  readonly feature?: Feature;
  readonly why: string;
  /** What a user loses where this right is not given; for `cluster` only. */
  readonly without?: string;
}
