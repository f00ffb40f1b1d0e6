import { KubeError } from './error.ts';
import type { HttpAnswer } from './exchange.ts';
import { parseJson } from './json.ts';
import type { Kind } from './kinds.ts';
import type { Place } from './path.ts';
import type { RequestSubject } from './request-report.ts';

export const subjectOf = (
  verb: string,
  { group, version, plural: resource }: Pick<Kind, 'group' | 'version' | 'plural'>,
  { subresource = '', namespace = '', name = '' }: Place,
): RequestSubject => ({ verb, group, version, resource, subresource, namespace, name });

export function parseAnswer<Answer extends object>({ body }: HttpAnswer, about: string): Answer {
  const parsed = parseJson(body);
  if (typeof parsed !== 'object' || parsed === null) {
    const message = `${about}: the answer is not JSON; does the config name an API server?`;
    throw new KubeError('KUBE_BAD_ANSWER', message, { retry: 'later', path: about });
  }
  return parsed as Answer;
}
