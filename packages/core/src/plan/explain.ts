import type { Action, Plan } from './plan.ts';
import { formatStamp } from './stamp.ts';
import { caGenerations, sentenceOf, waitGroups } from './waiting.ts';

/** A plan in plain sentences, for status, `handover plan` and logs. */
export const explain = (plan: Plan): readonly string[] => [
  ...plan.actions.map(sentence),
  ...waitGroups(plan.blockedBy).map(({ phrase }) => sentenceOf(phrase)),
  ...plan.notes.map((note) => `${note.object}: ${note.message}.`),
  ...(plan.actions.length === 0 && plan.blockedBy.length === 0 ? ['Nothing to do.'] : []),
];

const sentence = (action: Action): string => {
  switch (action.kind) {
    case 'write-bundle':
      return `Write the bundle ${action.object} (${cas(action.anchors)}), because ${action.why}.`;
    case 'write-leaf':
      return action.issue === undefined
        ? `Write ${action.object} with ${cas(action.anchors)} and the leaf it holds, because ${action.why}.`
        : `Issue a leaf of CA generation ${action.issue.generation} into ${action.object} (${cas(action.anchors)}), because ${action.why}.`;
    case 'stamp':
      return `Roll ${action.consumer} (stamp ${formatStamp(action.stamp)}), because ${action.why}.`;
    case 'reissue':
      return `Ask for a new leaf in ${action.object}, because ${action.why}.`;
    case 'mint':
      return action.as === 'current'
        ? `Create CA generation ${action.generation}, because ${action.why}.`
        : `Create CA generation ${action.generation} and distribute it before it signs, because ${action.why}.`;
    case 'activate':
      return `Sign with CA generation ${action.generation} from now on${
        action.crossBy === undefined ? '' : `, cross-signed by CA generation ${action.crossBy}`
      }, because ${action.why}.`;
    case 'retire':
      return `Retire CA generation ${action.generation} and destroy its key${
        action.retain === undefined
          ? ''
          : '; its certificate stays trusted for leaves that may still be in use'
      }, because ${action.why}.`;
    case 'drop':
      return `Drop CA generation ${action.generation}, whose key is destroyed, from every bundle, because ${action.why}.`;
    case 'record-issuance':
      return `Remember the leaves of CA generation ${action.generation} in other namespaces, because ${action.why}.`;
    case 'distrust':
      return `Distrust ${caGenerations(action.generations)} everywhere at once${
        action.replacement === undefined
          ? ''
          : `; CA generation ${action.replacement.generation} replaces ${action.generations.length === 1 ? 'it' : 'them'}`
      }, because ${action.why}.`;
    case 'distrust-done':
      return `Forget ${caGenerations(action.generations)}, because ${action.why}.`;
    default:
      return action satisfies never;
  }
};

const cas = (anchors: readonly string[]): string => (anchors.length === 1 ? '1 CA' : `${anchors.length} CAs`);
