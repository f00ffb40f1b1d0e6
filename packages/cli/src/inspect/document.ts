import { bundleOf, type HandoverError, type Instant, isExpired } from '@handover/material';
import type { InspectedFile } from './file.ts';
import type { Relations } from './relations.ts';
import { date } from './values.ts';
import type { Warning } from './warnings.ts';

/** What `--json` prints. */
export const documentOf = (
  inspected: readonly { readonly file: InspectedFile; readonly warnings: readonly Warning[] }[],
  { issuers, selfSigned }: Relations,
  now: Instant,
  errors: readonly HandoverError[],
) => ({
  files: inspected.map(({ file, warnings }) => ({
    file: file.name,
    format: file.format,
    /** Of a keystore; null: no password was given. */
    passwordFits: file.checked ? true : null,
    /** Hash of the certificates as a set: evidence about this bundle names it. */
    bundleHash: bundleOf(file.entries.map(({ certificate }) => certificate)).hash,
    certificates: file.entries.map((entry) => {
      const { certificate } = entry;
      return {
        index: entry.index,
        line: entry.line ?? null,
        alias: entry.alias ?? null,
        trusted: entry.trusted ?? null,
        subject: certificate.subject,
        issuer: certificate.issuer,
        issuedBy: (issuers.get(entry) ?? []).map(({ file, index }) => ({ file, index })),
        selfSigned: selfSigned.has(entry),
        isCa: certificate.isCa,
        pathLength: certificate.pathLength ?? null,
        notBefore: date(certificate.notBefore),
        notAfter: date(certificate.notAfter),
        expired: isExpired(certificate, now),
        dnsNames: certificate.dnsNames,
        ipAddresses: certificate.ipAddresses,
        uris: certificate.uris,
        emails: certificate.emails,
        keyUsage: certificate.keyUsage ?? null,
        extendedKeyUsage: certificate.extendedKeyUsage ?? null,
        keyAlgorithm: certificate.keyAlgorithm,
        signatureAlgorithm: certificate.signatureAlgorithm,
        serial: certificate.serial,
        subjectKeyId: certificate.subjectKeyId ?? null,
        authorityKeyId: certificate.authorityKeyId ?? null,
        fingerprint: certificate.fingerprint,
      };
    }),
    otherBlocks: file.others.map(({ label, line, alias }) => ({
      label,
      line: line ?? null,
      alias: alias ?? null,
    })),
    warnings: warnings.map((warning) => ({
      ...warning,
      certificate: warning.certificate ?? null,
      line: warning.line ?? null,
    })),
  })),
  errors: errors.map(({ code, message, path }) => ({ file: path ?? null, code, message })),
});
