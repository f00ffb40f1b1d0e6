import { HandoverError } from '@handover/material';
import { rememberDate } from './clock.ts';
import { parseJson } from './json.ts';
import type { Kind } from './kinds.ts';
import type { Place } from './path.ts';
import type { RequestSubject } from './request-report.ts';
import type { Reply } from './session.ts';

export const subjectOf = (verb: string, kind: Kind, place: Place): RequestSubject => ({
  verb,
  group: kind.group,
  version: kind.version,
  resource: kind.plural,
  subresource: place.subresource ?? '',
  namespace: place.namespace ?? '',
  name: place.name ?? '',
});

export function parseAnswer<Answer extends object>({ body, date }: Reply, about: string): Answer {
  const parsed = parseJson(body);
  if (typeof parsed !== 'object' || parsed === null) {
    const message = `${about}: the answer is not JSON; does the config name an API server?`;
    throw new HandoverError('KUBE_BAD_ANSWER', message, { retry: 'later', path: about });
  }
  return rememberDate(parsed as Answer, date);
}
