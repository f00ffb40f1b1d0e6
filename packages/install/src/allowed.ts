import type { Grant } from './rules.ts';

/** A request as the API server's authorizer sees it. */
export interface ApiRequest {
  readonly verb: string;
  readonly group: string;
  readonly resource: string;
  readonly subresource?: string | undefined;
  /** undefined: an object without a namespace, or a list of all namespaces. */
  readonly namespace?: string | undefined;
  /** Absent from creations, and from lists and watches unless a field selector names the one object. */
  readonly name?: string | undefined;
}

const resourceOf = ({ resource, subresource }: ApiRequest): string =>
  subresource === undefined || subresource === '' ? resource : `${resource}/${subresource}`;

const covers = (grant: Grant, request: ApiRequest): boolean =>
  (grant.namespace === undefined || grant.namespace === request.namespace) &&
  grant.group === request.group &&
  grant.resources.includes(resourceOf(request)) &&
  grant.verbs.includes(request.verb) &&
  (grant.names === undefined || (request.name !== undefined && grant.names.includes(request.name)));

/** Whether RBAC would let the request through. */
export const allowed = (grants: readonly Grant[], request: ApiRequest): boolean =>
  grants.some((grant) => covers(grant, request));

/**
 * What is granted and was never asked for, one line for each verb on each resource: `patch apps/deployments`, with `in NAMESPACE`
 * or `everywhere`. A request that two grants cover counts for both.
 */
export const unused = (grants: readonly Grant[], requests: readonly ApiRequest[]): readonly string[] => {
  const idle: string[] = [];
  for (const grant of grants) {
    for (const resource of grant.resources) {
      for (const verb of grant.verbs) {
        const narrow: Grant = { ...grant, resources: [resource], verbs: [verb] };
        if (requests.some((request) => covers(narrow, request))) continue;
        const group = grant.group === '' ? '' : `${grant.group}/`;
        idle.push(
          `${verb} ${group}${resource} ${grant.namespace === undefined ? 'everywhere' : `in ${grant.namespace}`}`,
        );
      }
    }
  }
  return idle;
};
