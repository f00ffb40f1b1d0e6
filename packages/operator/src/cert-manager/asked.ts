import { type Leaf, parseRequestedLeaf } from '@handover/core';
import {
  type Duration,
  day,
  duration,
  hour,
  minute,
  parseSigningRequest,
  type SigningRequest,
  second,
} from '@handover/material';
import { OperatorError } from '../error.ts';
import type { CertificateRequest } from './kinds.ts';

const refuse = (why: string): never => {
  throw new OperatorError('SIGNING_REQUEST_REFUSED', why);
};

/** cert-manager's names of what a leaf of ours has in any case; for ECDSA keys "key encipherment" means nothing. */
const ALWAYS: ReadonlySet<string> = new Set(['signing', 'digital signature', 'key encipherment']);
const USAGES: ReadonlyMap<string, 'server' | 'client'> = new Map([
  ['server auth', 'server'],
  ['client auth', 'client'],
  ['serverAuth', 'server'],
  ['clientAuth', 'client'],
]);
const CSR_ALWAYS: ReadonlySet<string> = new Set(['digitalSignature', 'keyEncipherment']);

const usagesOf = (
  spec: NonNullable<CertificateRequest['spec']>,
  { keyUsage = [], extendedKeyUsage = [] }: SigningRequest,
  isServer: boolean,
): readonly ('server' | 'client')[] => {
  const asked = [...(spec.usages ?? []).filter((usage) => !ALWAYS.has(usage)), ...extendedKeyUsage];
  const stray = [
    ...asked.filter((usage) => !USAGES.has(usage)),
    ...keyUsage.filter((usage) => !CSR_ALWAYS.has(usage)),
  ];
  if (stray[0] !== undefined)
    return refuse(
      `usage ${JSON.stringify(stray[0].slice(0, 80))} is not offered; ask for server auth, client auth, digital signature and key encipherment only`,
    );
  const wanted = [...new Set(asked.flatMap((usage) => USAGES.get(usage) ?? []))];
  if (wanted.length > 0) return wanted;
  return isServer ? ['server', 'client'] : ['client'];
};

const subjectOf = (
  attributes: SigningRequest['attributes'],
): { readonly commonName?: string; readonly organizations: readonly string[] } => {
  const stray = attributes.find(([label]) => label !== 'CN' && label !== 'O');
  if (stray !== undefined)
    return refuse(`subject ${stray[0]} is not offered; a subject has a CN and organizations (O) only`);
  const names = attributes.flatMap(([label, value]) => (label === 'CN' ? [value] : []));
  if (names.length > 1) return refuse('the subject has several CN; give one');
  const [commonName] = names;
  const organizations = attributes.flatMap(([label, value]) => (label === 'O' ? [value] : []));
  return { ...(commonName === undefined ? {} : { commonName }), organizations };
};

const UNITS = { h: hour, m: minute, s: second } as const;
const DEFAULT: Duration = duration(90 * day);
/** The longest that a Leaf may ask for. */
const LONGEST: Duration = duration(3650 * day);

/** Go's form, as the API server stores it: `2160h0m0s`. */
const durationOf = (text: string | undefined): Duration => {
  if (text === undefined) return DEFAULT;
  if (!/^(?:\d+(?:\.\d+)?[hms])+$/.test(text))
    return refuse(
      `duration ${JSON.stringify(text.slice(0, 40))} is not a length of time; write it like 2160h`,
    );
  let whole = 0;
  for (const [, amount, unit] of text.matchAll(/([\d.]+)([hms])/g))
    whole += Number(amount) * UNITS[unit as keyof typeof UNITS];
  return duration(Math.min(Math.round(whole), LONGEST));
};

/** What a CertificateRequest asks for, as a Leaf would, so that the same rules decide; and the key that signed it. */
export const askedBy = (
  { metadata, spec = {} }: CertificateRequest,
  authority: string,
  most: Duration | undefined,
): { readonly leaf: Leaf; readonly publicKey: SigningRequest['publicKey'] } => {
  const csr = parseSigningRequest(Buffer.from(spec.request ?? '', 'base64'));
  if (spec.isCA === true || csr.isCa)
    refuse('it asks for a CA; remove isCA: this Authority issues leaves only');
  if (csr.emails.length > 0) refuse('e-mail addresses are not offered; remove emailAddresses');
  if (csr.altNames.some(({ kind }) => kind === 'other' || kind === 'directory'))
    refuse('otherNames and directory names are not offered; remove them');
  const [extension] = csr.otherExtensions;
  if (extension !== undefined) refuse(`extension ${extension} is not offered; remove it from the request`);
  const lifetime = Math.min(durationOf(spec.duration), most ?? LONGEST);
  const subject = subjectOf(csr.attributes);
  const hasHost = csr.dnsNames.length + csr.ipAddresses.length > 0;
  // A Leaf for a server has a host name. Here a URI will do, as for pods; but beside it, clients take a common name for the host name.
  const isByUri = !hasHost && csr.uris.length > 0 && subject.commonName === undefined;
  const usages = usagesOf(spec, csr, hasHost || isByUri);
  const leaf = parseRequestedLeaf(
    {
      authority,
      key: csr.keyAlgorithm,
      subject,
      dnsNames: csr.dnsNames,
      ipAddresses: csr.ipAddresses,
      uris: csr.uris,
      usages,
      lifetime: `${Math.floor(lifetime / second)}s`,
    },
    { name: metadata.name ?? '', namespace: metadata.namespace ?? '' },
    'the request',
  );
  return { leaf, publicKey: csr.publicKey };
};
