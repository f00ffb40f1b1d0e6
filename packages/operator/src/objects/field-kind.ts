/** Kinds of API objects with a caBundle that the API server itself reads. */
export type FieldKind =
  | 'APIService'
  | 'ValidatingWebhookConfiguration'
  | 'MutatingWebhookConfiguration'
  | 'CustomResourceDefinition';
