/** Its author. */
export type AnnotationOwner =
  | 'you'
  | 'Handover'
  | 'cainjector'
  | 'service-ca'
  | 'Reloader'
  | 'trust-manager'
  | 'kubectl';

export interface AnnotationEntry {
  readonly name: string;
  readonly is: 'annotation' | 'label';
  readonly owner: AnnotationOwner;
  /** Allowed values. */
  readonly value: string;
  /** Kinds of objects that may carry it. */
  readonly on: string;
  readonly means: string;
}

export const FIELDS = 'webhook configurations, APIService, CustomResourceDefinition';
export const WORKLOAD = 'workload, pod template';

/** Makes entries of one owner. */
export const entriesOf =
  (owner: AnnotationOwner) =>
  (
    name: string,
    value: string,
    on: string,
    means: string,
    is: AnnotationEntry['is'] = 'annotation',
  ): AnnotationEntry => ({ owner, name, value, on, means, is });
