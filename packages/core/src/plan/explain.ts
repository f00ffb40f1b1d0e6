import type { Action, Plan } from './plan.ts';
import { formatStamp } from './stamp.ts';

/** A plan in plain sentences, for status, `handover plan` and logs. */
export const explain = (plan: Plan): readonly string[] => [
  ...plan.actions.map(sentence),
  ...plan.blockedBy.map(
    (blocker) => `${blocker.consumer} is awaited: the next step needs ${blocker.waitsFor}.`,
  ),
  ...plan.notes.map((note) => `${note.object}: ${note.message}.`),
  ...(plan.actions.length === 0 && plan.blockedBy.length === 0 ? ['Nothing to do.'] : []),
];

const sentence = (action: Action): string => {
  switch (action.kind) {
    case 'write-bundle':
      return `Write the bundle ${action.object} (${cas(action.anchors)}), because ${action.why}.`;
    case 'write-leaf':
      return action.issue === undefined
        ? `Write ${action.object} with ${cas(action.anchors)} and the leaf it has, because ${action.why}.`
        : `Issue a leaf of generation ${action.issue.generation} into ${action.object} (${cas(action.anchors)}), because ${action.why}.`;
    case 'stamp':
      return `Roll ${action.consumer} (stamp ${formatStamp(action.stamp)}), because ${action.why}.`;
    case 'mint':
      return action.as === 'current'
        ? `Create generation ${action.generation}, because ${action.why}.`
        : `Create generation ${action.generation} and send it out before it is used, because ${action.why}.`;
    case 'activate':
      return `Sign with generation ${action.generation} from now on${
        action.crossBy === undefined ? '' : `, cross-signed by generation ${action.crossBy}`
      }, because ${action.why}.`;
    case 'retire':
      return `Retire generation ${action.generation} and destroy its key, because ${action.why}.`;
    case 'distrust':
      return `Distrust generation ${action.generations.join(' and ')} everywhere at once${
        action.replacement === undefined
          ? ''
          : `; generation ${action.replacement.generation} takes its place`
      }, because ${action.why}.`;
    case 'distrust-done':
      return `Forget generation ${action.generations.join(' and ')}, because ${action.why}.`;
    default:
      return action satisfies never;
  }
};

const cas = (anchors: readonly string[]): string => (anchors.length === 1 ? '1 CA' : `${anchors.length} CAs`);
