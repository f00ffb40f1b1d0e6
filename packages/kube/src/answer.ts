import { KubeError } from './error.ts';
import type { HttpAnswer } from './exchange.ts';
import { parseJson } from './json.ts';
import type { ResourceKind } from './kinds.ts';
import type { ResourcePlace } from './path.ts';
import type { RequestSubject } from './request-report.ts';

export const subjectOf = (
  verb: string,
  { group, version, plural: resource }: Pick<ResourceKind, 'group' | 'version' | 'plural'>,
  { subresource = '', namespace = '', name = '' }: ResourcePlace,
): RequestSubject => ({ verb, group, version, resource, subresource, namespace, name });

export function parseAnswer<Answer extends object>({ body }: HttpAnswer, about: string): Answer {
  const parsed = parseJson(body);
  if (typeof parsed !== 'object' || parsed === null) {
    const message = `${about}: the answer is not JSON; does the config name an API server?`;
    throw new KubeError('KUBE_BAD_ANSWER', message, { retry: 'later', path: about });
  }
  return parsed as Answer;
}
