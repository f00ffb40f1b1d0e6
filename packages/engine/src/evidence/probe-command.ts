import { parseCertificates } from '@handover/material';
import { chainSeen } from './chain-seen.ts';
import { leavesIn, type ProbeTarget, servedBy } from './probe.ts';
import { type DocumentRead, type Issued, UNKNOWN_ISSUER, unreadable, unreadOf } from './read-document.ts';

/** A program that prints the certificate which a server shows, or its fingerprint. */
export interface ProbeCommand {
  /** Its name for people. */
  readonly name: string;
  /** What it printed, or why that is not known, to be read after its name. */
  run(): Promise<{ readonly text: string } | { readonly why: string }>;
}

/** As `openssl x509 -fingerprint -sha256` prints it, too. */
const FINGERPRINT = /^(?:sha256 fingerprint=)?([0-9a-f]{2}(?::?[0-9a-f]{2}){31})$/i;

const STRANGER = 'shows a certificate of a CA that this authority does not have';
const NEITHER = 'prints neither a certificate in PEM nor a SHA-256 fingerprint';

/** Evidence of the leaf alone: what a server trusts cannot be seen from outside. */
export const askCommand = async (
  command: ProbeCommand,
  issued: Issued & Pick<ProbeTarget, 'otherLeaf'>,
): Promise<DocumentRead> => {
  const ended = await command.run();
  const nothing = (why: string): DocumentRead => unreadable(`${command.name} ${why}`);
  if ('why' in ended) return nothing(ended.why);
  const read = 'text' in ended ? shownIn(ended.text.trim(), issued) : undefined;
  if (read === undefined) return nothing(NEITHER);
  const isStranger = read.issuer === UNKNOWN_ISSUER;
  return {
    proof: { by: 'probed', at: issued.now, ...read },
    unread: unreadOf(undefined, isStranger ? `${command.name} ${STRANGER}` : undefined),
  };
};

const shownIn = (
  text: string,
  { record, issuers, now, otherLeaf }: Parameters<typeof askCommand>[1],
): Pick<Required<NonNullable<DocumentRead['proof']>>, 'issuer' | 'leaves'> | undefined => {
  const [, digits] = FINGERPRINT.exec(text) ?? [];
  if (digits !== undefined) {
    const fingerprint = digits.replaceAll(':', '').toLowerCase();
    return { issuer: issuers.get(fingerprint) ?? UNKNOWN_ISSUER, leaves: [{ fingerprint }] };
  }
  const chain = certificatesIn(text);
  const served = servedBy(chain, record);
  if (served === undefined) return undefined;
  return {
    issuer: served.issuer,
    leaves: leavesIn([served], { otherLeaf }),
    // A program that prints the leaf alone says nothing of what is sent behind it.
    ...(chain.length > 1 ? chainSeen([served], record, now) : {}),
  };
};

const certificatesIn = (text: string): ReturnType<typeof parseCertificates>['certificates'] => {
  try {
    return parseCertificates(text).certificates;
  } catch {
    return [];
  }
};
