import { day, duration, second } from '@handover/material';
import { z } from 'zod';
import { dnsNameProblem, ipAddressProblem, uriProblem } from '../issue/alt-names.ts';
import {
  durationField,
  FORM,
  fields,
  keyField,
  objectName,
  percentField,
  reference,
  text,
} from './fields.ts';
import { shown } from './message.ts';
import { frame, namespacedMetadata } from './metadata.ts';
import { account, leafOutputs, mode } from './outputs.ts';
import { leafReload } from './reload.ts';

/** `form` is for the API server, as narrow as one expression can be; a wrong name that passes it gets a condition. */
const names = (problem: (value: string) => string | undefined, max: number, form: RegExp, says: string) =>
  z
    .array(
      z
        .string()
        .min(1)
        .max(max)
        .refine((value) => problem(value) === undefined, {
          error: ({ input }) => `${shown(input)} ${problem(String(input)) ?? ''}`,
        })
        .meta({ pattern: form.source, [FORM]: says }),
    )
    .max(100)
    .default([]);

const DNS_LABEL = '[A-Za-z0-9_]([-A-Za-z0-9_]{0,61}[A-Za-z0-9_])?';
const DNS_FORM = new RegExp(`^(\\*\\.)?${DNS_LABEL}(\\.${DNS_LABEL})*$`);
const OCTET = '(0|[1-9][0-9]?|1[0-9]{2}|2[0-4][0-9]|25[0-5])';
const IP_FORM = new RegExp(`^(${OCTET}(\\.${OCTET}){3}|[0-9a-fA-F]*:[0-9a-fA-F:]*[0-9a-fA-F:.]*)$`);
const URI_FORM = /^[A-Za-z][A-Za-z0-9+.-]*:[A-Za-z0-9\-._~:/?#[\]@!$&'()*+,;=%]+$/;

const SERVER_NEEDS_NAME =
  'usages has server, and clients match a server by dnsNames or ipAddresses; give one of them, or usages: [client]';

const attribute = () =>
  text(
    /^[^\p{Cc}]{1,64}$/u,
    128,
    'a name for a subject',
    'use 1 to 64 characters without control characters',
  );

const subject = fields({
  commonName: attribute().optional().describe('CN of the subject.'),
  organizations: z.array(attribute()).max(16).default([]).describe('O of the subject, in this order.'),
}).describe('Subject of the certificate.');

const files = fields({
  owner: account('a user').optional().describe('User that owns the files.'),
  group: account('a group').optional().describe('Group that owns the files.'),
  mode: mode(/^0?[0-7]{2}0$/, 'write it in quotes, like "0600" or "0640"; others must not read a key')
    .prefault('0600')
    .describe('Mode of the private key.'),
}).describe('Owner and mode of the files. Directory home only.');

const spec = fields({
  authority: reference().describe(
    'The Authority that issues the certificate: name, or namespace/name if its issueTo allows that. Another one is refused while the Secret holds a certificate of the first.',
  ),
  secretName: objectName()
    .optional()
    .describe('Secret to write tls.crt, tls.key and ca.crt to. Default: <name>.'),
  key: keyField(),
  reuseKey: z
    .boolean()
    .default(false)
    .describe(
      'Keep the private key when the certificate is renewed, for programs that read certificate and key at different moments. A new algorithm or a distrusted CA gives a new key.',
    ),
  subject: subject.prefault({}),
  dnsNames: names(
    dnsNameProblem,
    253,
    DNS_FORM,
    'is not a DNS name; write labels of letters, digits and hyphens with dots between them, * only as the first label',
  ).describe('DNS names. A wildcard may only be the whole first label.'),
  ipAddresses: names(
    ipAddressProblem,
    45,
    IP_FORM,
    'is not an IPv4 or IPv6 address; write it like 10.0.0.1 or 2001:db8::1',
  ).describe('IPv4 and IPv6 addresses.'),
  uris: names(
    uriProblem,
    2048,
    URI_FORM,
    'is not an absolute URI; write it like spiffe://mesh/ns/default',
  ).describe('URIs, such as SPIFFE ids.'),
  usages: z
    .array(z.enum(['server', 'client']))
    .min(1)
    .max(2)
    .default(['server', 'client'])
    .describe('What the certificate may be used for.'),
  lifetime: durationField(duration(10 * second), duration(3650 * day))
    .prefault('90d')
    .describe('How long each certificate is valid, at most until the end of its CA.'),
  renew: fields({
    at: percentField()
      .prefault('66%')
      .describe('Share of the lifetime after which the certificate is renewed.'),
  })
    .prefault({})
    .describe('When the certificate is renewed.'),
  reload: leafReload().optional(),
  files: files.optional(),
  outputs: leafOutputs(),
})
  .describe('Which certificate to issue, by which Authority, and into which Secret.')
  .meta({
    'x-kubernetes-validations': [
      {
        rule: [
          'has(self.subject) && has(self.subject.commonName)',
          'has(self.subject) && has(self.subject.organizations) && size(self.subject.organizations) > 0',
          ...['dnsNames', 'ipAddresses', 'uris'].map((name) => `has(self.${name}) && size(self.${name}) > 0`),
        ]
          .map((term) => `(${term})`)
          .join(' || '),
        message: 'has no name; give dnsNames, ipAddresses, uris or subject.commonName',
      },
      {
        rule: [
          "(has(self.usages) && !self.usages.exists(usage, usage == 'server'))",
          ...['dnsNames', 'ipAddresses'].map((name) => `(has(self.${name}) && size(self.${name}) > 0)`),
        ].join(' || '),
        message: SERVER_NEEDS_NAME,
      },
    ],
  });

const resource = fields({ ...frame('Leaf'), metadata: namespacedMetadata, spec });
type Asked = Pick<z.output<typeof spec>, 'subject' | 'dnsNames' | 'ipAddresses' | 'uris' | 'usages'>;

/** `mayBeUri`: a server may be named by its URIs alone, as peers of a mesh are. */
const checkNames =
  (mayBeUri: boolean) =>
  ({ spec }: { readonly spec: Asked }, context: z.core.$RefinementCtx): void => {
    const { subject, dnsNames, ipAddresses, uris, usages } = spec;
    const refuse = (message: string) => context.addIssue({ code: 'custom', path: ['spec'], message });
    const hosts = dnsNames.length + ipAddresses.length;
    const named = subject.commonName !== undefined || subject.organizations.length > 0;
    // Without a SAN, Node, curl, Python and OpenSSL take the common name for the host name, and it is not checked as one here.
    const isByUri = mayBeUri && uris.length > 0 && subject.commonName === undefined;
    if (!named && hosts + uris.length === 0)
      refuse('has no name; give dnsNames, ipAddresses, uris or subject.commonName');
    else if (usages.includes('server') && hosts === 0 && !isByUri) refuse(SERVER_NEEDS_NAME);
  };

const withSecretName = ({ apiVersion, kind, metadata, spec }: z.output<typeof resource>) => ({
  apiVersion,
  kind,
  metadata,
  spec: { ...spec, secretName: spec.secretName ?? metadata.name },
});

export const leafSchema = resource.superRefine(checkNames(false)).transform(withSecretName);

/** A leaf that a program asks for with a request of its own, under the rules of a Leaf. */
export const requestedLeafSchema = resource.superRefine(checkNames(true)).transform(withSecretName);
