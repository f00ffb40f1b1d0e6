import { CoreError } from '../error.ts';
import { oid, sequence, set, utf8String } from './der-writer.ts';

const COMMON_NAME = oid('2.5.4.3');
const ORGANIZATION = oid('2.5.4.10');
const LONGEST = 64; // ub-common-name and ub-organization-name, RFC 5280 appendix A.1, in characters

const attribute = (type: Uint8Array, what: string, value: string): Uint8Array => {
  const length = [...value].length;
  // \p{Cc}: a NUL or a line break in a name has fooled verifiers and logs; \p{Cs}: half a surrogate pair has no UTF-8.
  if (length === 0 || length > LONGEST || /[\p{Cc}\p{Cs}]/u.test(value)) {
    throw new CoreError(
      'ISSUE_SUBJECT',
      `subject ${what} ${JSON.stringify(value.slice(0, 80))} must be 1 to ${LONGEST} characters without control characters`,
    );
  }
  return set(sequence(type, utf8String(value)));
};

export interface Subject {
  readonly commonName?: string | undefined;
  readonly organizations?: readonly string[] | undefined;
}

/** A distinguished name, DER: organisations, then the common name. */
export const distinguishedName = ({ commonName, organizations = [] }: Subject): Uint8Array =>
  sequence(
    ...organizations.map((value) => attribute(ORGANIZATION, 'organization', value)),
    ...(commonName === undefined ? [] : [attribute(COMMON_NAME, 'commonName', commonName)]),
  );

/**
 * `<name> <n> <8 hex of its SKI>`. A name too long for the field is cut: the key identifier, not the name, is what
 * keeps two generations apart.
 */
export const caCommonName = (name: string, generation: number, keyId: Uint8Array): string => {
  if (!Number.isSafeInteger(generation) || generation < 1) {
    throw new CoreError('ISSUE_GENERATION', `a generation is a whole number from 1 on, got ${generation}`);
  }
  if (name === '') throw new CoreError('ISSUE_SUBJECT', 'a CA needs a name; use the one of its Authority');
  const suffix = ` ${generation} ${Buffer.from(keyId.subarray(0, 4)).toString('hex')}`;
  return [...name].slice(0, LONGEST - suffix.length).join('') + suffix;
};
