import { type Certificate, type Instant, iso } from '@handover/material';
import type { Observation } from '../observe/observe.ts';
import type { ObjectId } from '../snapshot/home.ts';
import { bundleKeyOf, readableCertificates } from '../snapshot/stored-object.ts';

export interface NotValid {
  readonly object: ObjectId;
  /** Completes a sentence that begins with the object. */
  readonly why: string;
}

/** Leaves' objects that hold a certificate out of its dates: of this authority, or of another program that was left alone. */
export const notValidIn = ({
  responsibilities,
  stored,
  now,
}: Pick<Observation, 'responsibilities' | 'stored' | 'now'>): readonly NotValid[] =>
  [...responsibilities.leaves.keys()].flatMap((object) => {
    const data = stored.get(object)?.data;
    if (data === undefined) return [];
    const [leaf] = readableCertificates(data['tls.crt']);
    const cas = readableCertificates(data[bundleKeyOf(object)]);
    const why = leafTrouble(leaf, now) ?? bundleTrouble(cas, now);
    return why === undefined ? [] : [{ object, why }];
  });

const leafTrouble = (leaf: Certificate | undefined, now: Instant): string | undefined => {
  if (leaf === undefined) return 'holds no readable certificate';
  const dates = outOfDates(leaf, now);
  return dates === undefined ? undefined : `holds a certificate that ${dates}`;
};

/** One CA within its dates is enough: others may be on their way in or out. */
const bundleTrouble = (cas: readonly Certificate[], now: Instant): string | undefined => {
  const [first] = cas;
  if (first === undefined) return 'holds no readable CA';
  if (cas.some((ca) => outOfDates(ca, now) === undefined)) return undefined;
  return `holds a CA that ${outOfDates(first, now)}`;
};

const outOfDates = ({ notBefore, notAfter }: Certificate, now: Instant): string | undefined => {
  if (now >= notAfter) return `expired at ${iso(notAfter)}`;
  return now < notBefore ? `is not valid before ${iso(notBefore)}` : undefined;
};
