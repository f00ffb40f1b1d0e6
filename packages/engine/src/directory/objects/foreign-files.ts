import { ADOPT } from '@handover/core';
import { quoted } from '../disk/trusted-path.ts';

/** What a Leaf's folder holds; every other name in it is another's. */
export const SECRET_FILES = ['tls.crt', 'tls.key', 'ca.crt'] as const;

/** Files in the folder of an object that nothing here has a record of. */
export interface ForeignFolder {
  readonly path: string;
  readonly names: readonly string[];
  /** Names that the object itself would write. */
  readonly wanted: readonly string[];
}

const MOST_NAMES = 3;
const listed = (names: readonly string[]): string =>
  names.length <= MOST_NAMES
    ? names.join(', ')
    : `${names.slice(0, MOST_NAMES).join(', ')} and ${names.length - MOST_NAMES} more`;

/**
 * Why files of others may not be taken over without their owner's consent. With consent the wanted names are replaced, and all
 * others stay as they are.
 */
export const foreignObstacle = ({ path, names, wanted }: ForeignFolder): string => {
  const consent = `or set ${ADOPT}: "true" on the resource that asks for this folder (other files stay as they are)`;
  const unknown = names.filter((name) => !wanted.includes(name));
  if (unknown.length > 0)
    return `${path} holds files that handover did not write (${listed(unknown)}); move them away, ${consent}`;
  if (names.includes('tls.crt') && wanted.includes('ca.crt') && !names.includes('ca.crt'))
    return `${path} holds a certificate of another issuer without its CA; add that CA as ${quoted(`${path}/ca.crt`)}, move the files away, ${consent}`;
  return `${path} holds files of another program (${listed(names)}); move them away, ${consent}`;
};
