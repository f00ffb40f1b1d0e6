import type { Proof, Served } from '@handover/core';
import { parseCertificates } from '@handover/material';
import { chainSeen } from './chain-seen.ts';
import { leavesIn, type ProbeTarget, servedBy, servedIn } from './probe.ts';
import { type DocumentRead, type Issued, UNKNOWN_ISSUER, unreadable, unreadOf } from './read-document.ts';
import { notServed } from './served.ts';

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
/** Of a certificate of which only the fingerprint is printed. */
const UNKNOWN_SIGNER = 'a CA that is not known';

interface Shown extends Pick<Required<Proof>, 'issuer' | 'leaves'>, Pick<Proof, 'chain'> {
  readonly served: Served;
}

/** Evidence of the leaf alone: what a server trusts cannot be seen from outside. */
export const askCommand = async (
  command: ProbeCommand,
  issued: Issued & Pick<ProbeTarget, 'otherLeaf'>,
): Promise<DocumentRead> => {
  const ended = await command.run();
  const nothing = (why: string): DocumentRead => {
    const says = `${command.name} ${why}`;
    return { ...unreadable(says), served: notServed(issued.now, says, 'no-certificate') };
  };
  if ('why' in ended) return nothing(ended.why);
  const shown = shownIn(ended.text.trim(), issued);
  if (shown === undefined) return nothing(NEITHER);
  const { served, ...proof } = shown;
  const isStranger = shown.issuer === UNKNOWN_ISSUER;
  return {
    proof: { by: 'probed', at: issued.now, ...proof },
    unread: unreadOf(undefined, isStranger ? `${command.name} ${STRANGER}` : undefined),
    served,
  };
};

const shownIn = (
  text: string,
  { record, issuers, now, otherLeaf }: Parameters<typeof askCommand>[1],
): Shown | undefined => {
  const [, digits] = FINGERPRINT.exec(text) ?? [];
  if (digits !== undefined) {
    const fingerprint = digits.replaceAll(':', '').toLowerCase();
    const issuer = issuers.get(fingerprint);
    const leaf = {
      fingerprint,
      issuer,
      names: [],
      ...(issuer === undefined ? { signedBy: UNKNOWN_SIGNER } : {}),
    };
    return {
      issuer: issuer ?? UNKNOWN_ISSUER,
      leaves: [{ fingerprint }],
      served: { at: now, since: now, leaves: [leaf] },
    };
  }
  const chain = certificatesIn(text);
  const served = servedIn([chain], record, { otherLeaf }, now);
  if (served === undefined) return undefined;
  const by = servedBy(chain, record);
  return {
    issuer: by?.issuer ?? UNKNOWN_ISSUER,
    leaves: by === undefined ? [] : leavesIn([by], { otherLeaf }),
    // A program that prints the leaf alone says nothing of what is sent behind it.
    ...(by !== undefined && chain.length > 1 ? chainSeen([by], record, now) : {}),
    served,
  };
};

const certificatesIn = (text: string): ReturnType<typeof parseCertificates>['certificates'] => {
  try {
    return parseCertificates(text).certificates;
  } catch {
    return [];
  }
};
