import { HandoverError } from '@handover/material';
import { rememberDate } from './clock.ts';
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
  let parsed: unknown;
  try {
    parsed = JSON.parse(body.toString('utf8'));
  } catch {
    parsed = undefined;
  }
  if (typeof parsed !== 'object' || parsed === null) {
    throw new HandoverError('KUBE_BAD_ANSWER', `${about}: the answer is no JSON; is this an API server?`, {
      retry: 'later',
      path: about,
    });
  }
  return rememberDate(parsed as Answer, date);
}
