import type { Action } from '@handover/core';

/** Actions in few words, for a trace. */
export const describeActions = (actions: readonly Action[]): string =>
  actions
    .slice(0, 6)
    .map((action) => {
      if (action.kind === 'stamp') return `stamp ${action.consumer} ${JSON.stringify(action.stamp)}`;
      if (action.kind === 'reissue') return `reissue ${action.object} because ${action.why}`;
      if ('object' in action) {
        const issue = action.kind === 'write-leaf' ? action.issue : undefined;
        return `${action.kind} ${action.object} r${action.revision} (${action.anchors.length} CAs${
          issue === undefined ? '' : `, leaf of ${issue.generation}`
        }) because ${action.why}`;
      }
      return `${action.kind} r${action.revision} because ${action.why}`;
    })
    .join('; ');

export const sameTarget = (a: Action, b: Action): boolean =>
  a.kind === b.kind &&
  ('object' in a && 'object' in b
    ? a.object === b.object
    : 'consumer' in a && 'consumer' in b
      ? a.consumer === b.consumer
      : true);
