/** Asks for metadata only; a server without that format sends whole objects. */
export const METADATA = 'application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json';
export const METADATA_LIST =
  'application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json';

export const PATCH = {
  merge: 'application/merge-patch+json',
  json: 'application/json-patch+json',
  // The body is JSON, which is YAML too. The API knows this patch by its YAML name only.
  apply: 'application/apply-patch+yaml',
} as const;
