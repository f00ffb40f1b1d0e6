import { z } from 'zod';
import { dnsNameProblem } from '../issue/alt-names.ts';
import { ipRangeProblem } from '../issue/ip-range.ts';
import { FORM, text } from './fields.ts';
import { shown } from './message.ts';

const DNS_PART = '([A-Za-z0-9_-]|\\{namespace\\})';
const DNS_PATTERN = new RegExp(
  `^(${DNS_PART}+\\.)*(${DNS_PART}+|${DNS_PART}*\\*${DNS_PART}*)(\\.${DNS_PART}+)*$`,
);
const URI_PART = "([A-Za-z0-9._~:/?#[\\]@!$&'()+,;=%-]|\\{namespace\\})";
const URI_PATTERN = new RegExp(`^[A-Za-z][A-Za-z0-9+.-]*:(${URI_PART}+|${URI_PART}*\\*${URI_PART}*)$`);
const TEXT_PART = '([^\\p{Cc}*{}]|\\{namespace\\})';
const TEXT_PATTERN = new RegExp(`^(${TEXT_PART}+|${TEXT_PART}*\\*${TEXT_PART}*)$`, 'u');

const ONE_STAR = 'with at most one * within one label; {namespace} is the namespace of the Leaf';

export const dnsPattern = () =>
  text(DNS_PATTERN, 253, 'a pattern of DNS names', `write it like *.mesh.svc, ${ONE_STAR}`);
export const uriPattern = () =>
  text(
    URI_PATTERN,
    512,
    'a pattern of URIs',
    'write it like spiffe://mesh/ns/{namespace}/sa/*, with at most one * within one segment of the path or one label of the host',
  );
export const textPattern = () =>
  text(
    TEXT_PATTERN,
    128,
    'a pattern',
    'write it like team-{namespace}, with at most one *, which stands for letters, digits, - and _',
  );

const DNS_LABEL = '[A-Za-z0-9_]([-A-Za-z0-9_]{0,61}[A-Za-z0-9_])?';
export const dnsDomain = () =>
  text(
    new RegExp(`^${DNS_LABEL}(\\.${DNS_LABEL})*$`),
    253,
    'a DNS domain',
    'write it like mesh.svc, without * and without a dot in front',
  ).refine((value) => dnsNameProblem(value) === undefined, {
    error: ({ input }) => `${shown(input)} ${dnsNameProblem(String(input)) ?? ''}`,
  });

/** SPIFFE-ID §2.1: lower-case letters, digits, dots, dashes and underscores. */
export const trustDomain = () =>
  text(
    /^[a-z0-9._-]{1,253}$/,
    253,
    'a trust domain',
    'write it like cluster.local, in lower-case letters, digits, ., - and _',
  );

const OCTET = '(0|[1-9][0-9]?|1[0-9]{2}|2[0-4][0-9]|25[0-5])';
const IP = `(${OCTET}(\\.${OCTET}){3}|[0-9a-fA-F]*:[0-9a-fA-F:]*[0-9a-fA-F:.]*)`;
const RANGE_FORM = new RegExp(`^${IP}(/(0|[1-9][0-9]{0,2}))?$`);

/** The pattern is for the API server, as narrow as one expression can be; a wrong range that passes it gets a condition. */
export const ipRangeField = () =>
  z
    .string()
    .min(1)
    .max(49)
    .refine((value) => ipRangeProblem(value) === undefined, {
      error: ({ input }) => `${shown(input)} ${ipRangeProblem(String(input)) ?? ''}`,
    })
    .meta({
      pattern: RANGE_FORM.source,
      [FORM]: 'is not an IP address or range; write it like 10.0.0.1, 10.0.0.0/8 or 2001:db8::/32',
    });
