import { day, duration, second } from '@handover/material';
import { z } from 'zod';
import { formatDuration } from './duration.ts';
import { durationField, fields, KEY_ALGORITHMS, labelSelector } from './fields.ts';
import { dnsDomain, dnsPattern, ipRangeField, textPattern, uriPattern } from './name-fields.ts';

const lifetime = () => durationField(duration(10 * second), duration(3650 * day));

/** Rules for the identity fields of a Leaf. A list applies to every namespace; an empty one allows nothing. */
export const issueTo = fields({
  namespaceSelector: labelSelector()
    .optional()
    .describe(
      'Other namespaces whose Leaves may name this Authority; {} is all of them. Default: only its own namespace.',
    ),
  dnsNames: z
    .array(dnsPattern())
    .max(100)
    .optional()
    .describe(
      "Patterns of allowed DNS names. At most one * each, within one label; {namespace} is the namespace of the Leaf. Default: any name in the Authority's namespace; in others <any>.{namespace}.svc and <any>.{namespace}.svc.cluster.local.",
    ),
  uris: z
    .array(uriPattern())
    .max(100)
    .optional()
    .describe(
      "Patterns of allowed URIs, such as spiffe://mesh/ns/{namespace}/sa/*. At most one * each, within one segment of the path or one label of the host. Default: any in the Authority's namespace, none in others.",
    ),
  ipAddresses: z
    .array(ipRangeField())
    .max(100)
    .optional()
    .describe(
      "Allowed IP addresses and ranges, such as 10.0.0.0/8. Default: any in the Authority's namespace, none in others.",
    ),
  subjects: fields({
    commonNames: z
      .array(textPattern())
      .max(100)
      .optional()
      .describe(
        "Patterns of allowed common names (CN). At most one * each. Default: any in the Authority's namespace; in others one of the Leaf's dnsNames, ipAddresses or uris.",
      ),
    organizations: z
      .array(textPattern())
      .max(100)
      .optional()
      .describe(
        "Patterns of allowed organizations (O). At most one * each. Default: any in the Authority's namespace, none in others.",
      ),
  })
    .optional()
    .describe('Rules for the subject of the certificate.'),
  usages: z
    .array(z.enum(['server', 'client']))
    .max(2)
    .optional()
    .describe('Allowed usages. Default: server and client.'),
  keys: z
    .array(z.enum(KEY_ALGORITHMS))
    .max(KEY_ALGORITHMS.length)
    .optional()
    .describe(
      "Allowed key algorithms. Default: all in the Authority's namespace; in others all but RSA-4096, whose keys take seconds to generate.",
    ),
  minLifetime: lifetime()
    .optional()
    .describe(
      "Shortest allowed lifetime. A Leaf may be renewed after half of it at the earliest. Default: none in the Authority's namespace, 1h in others.",
    ),
  maxLifetime: lifetime().optional().describe('Longest allowed lifetime. Default: as long as the CA.'),
  patience: durationField(duration(0), duration(3650 * day))
    .optional()
    .describe(
      'How long the certificate of a retired CA stays in bundles, its key destroyed, for workloads in other namespaces that still show a leaf of it; 0s: not at all. Default: until the last such leaf has expired.',
    ),
})
  .superRefine(({ minLifetime, maxLifetime }, context) => {
    if (minLifetime === undefined || maxLifetime === undefined || minLifetime <= maxLifetime) return;
    const [least, most] = [formatDuration(minLifetime), formatDuration(maxLifetime)];
    const message = `"${least}" is longer than maxLifetime "${most}"; lower it`;
    context.addIssue({ code: 'custom', path: ['minLifetime'], message });
  })
  .describe('Which Leaves this Authority issues certificates for, and with which names.');

const GIVE_ONE = 'has no list; give dnsNames, ipAddresses or both';

export const nameConstraints = fields({
  dnsNames: z
    .array(dnsDomain())
    .min(1)
    .max(100)
    .optional()
    .describe('Permitted domains, such as mesh.svc. Each permits itself and all names below it.'),
  ipAddresses: z
    .array(ipRangeField())
    .min(1)
    .max(100)
    .optional()
    .describe('Permitted IP addresses and ranges, such as 10.0.0.0/8.'),
})
  .superRefine(({ dnsNames, ipAddresses }, context) => {
    if (dnsNames === undefined && ipAddresses === undefined)
      context.addIssue({ code: 'custom', message: GIVE_ONE });
  })
  .meta({
    'x-kubernetes-validations': [{ rule: 'has(self.dnsNames) || has(self.ipAddresses)', message: GIVE_ONE }],
  })
  .describe(
    'Names that verifiers accept from this CA: a critical extension of the CA and of its cross-certificates. A kind of name without a list is not constrained. A change takes effect with the next CA generation; Leaves outside the list are refused at once.',
  );
