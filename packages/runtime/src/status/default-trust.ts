import { readFileSync, statSync } from 'node:fs';
import tls from 'node:tls';
import { type Clock, iso } from '@handover/material';
import { clearOpenSslErrors } from '../openssl-errors.ts';
import { warn } from '../warn.ts';
import { fingerprintsIn } from './frozen-trust.ts';
import { ageOf, type Shown, type SourceStatus } from './status.ts';

/** Node 22.15, 23.10 and later; @types/node of the oldest supported version do not list it. */
interface DefaultCertificates {
  getCACertificates?(type: 'default' | 'bundled'): readonly string[];
}

const CERTIFICATE = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g;

/** Line breaks differ between Node's own roots and what it has read. */
const bare = (certificate: string): string => certificate.replace(/\s/g, '');

/** The certificates in a text that Node does not carry itself: a file of the system's roots has those, too. */
const besideRoots = (text: string): readonly string[] => {
  const roots = new Set(tls.rootCertificates.map(bare));
  return (text.match(CERTIFICATE) ?? []).filter((certificate) => !roots.has(bare(certificate)));
};

/** The certificates of NODE_EXTRA_CA_CERTS on an older Node, which reads the file once, when a context first needs roots; undefined: an earlier text of it may be in use. */
function extraCertificates(path: string): readonly string[] | undefined {
  clearOpenSslErrors(); // makes such a context, so that nothing later is read
  try {
    const text = readFileSync(path, 'latin1');
    return statSync(path).ctimeMs < performance.timeOrigin ? besideRoots(text) : undefined;
  } catch {
    return []; // Node has warned of it
  }
}

/** What Node trusts by default beside its own roots: NODE_EXTRA_CA_CERTS, roots of the system, what the program has set. */
function defaultsOf(path: string | undefined): () => readonly string[] | undefined {
  const { getCACertificates } = tls as DefaultCertificates;
  if (getCACertificates !== undefined) {
    const own = new Set(getCACertificates('bundled').map(bare));
    return () => getCACertificates('default').filter((certificate) => !own.has(bare(certificate)));
  }
  const extra = path ? extraCertificates(path) : [];
  if (extra === undefined) {
    warn(
      'EXTRA_CA_UNKNOWN',
      `NODE_EXTRA_CA_CERTS (${path}) was written after this process began, so that it is not known what Node read from it, and rotations wait for this process; unset it, and use openTrust`,
    );
  }
  return () => extra;
}

/**
 * Adds the CAs that Node itself trusts by default: the global `fetch` and every driver without a `ca` verify by them, and no change of a file
 * reaches them. Nothing is shown while the process has such CAs and they are not known.
 */
export function withDefaultTrust(shown: Shown, clock: Clock): Shown {
  const path = process.env.NODE_EXTRA_CA_CERTS;
  const defaults = defaultsOf(path);
  const loadedAt = clock.now();
  let last: { readonly certificates: string; readonly anchors: readonly string[] } | undefined;
  const anchorsOf = (certificates: readonly string[]): readonly string[] => {
    const text = certificates.join('\n');
    if (last?.certificates !== text) last = { certificates: text, anchors: fingerprintsIn([text]) };
    return last.anchors;
  };
  const statuses = (): readonly SourceStatus[] | undefined => {
    const [sources, certificates] = [shown.statuses(), defaults()];
    if (sources === undefined || certificates === undefined) return undefined;
    const anchors = anchorsOf(certificates);
    if (anchors.length === 0) return sources;
    const name = path || 'default CAs of Node';
    const age = ageOf(loadedAt, clock.now());
    return [...sources, { kind: 'trust', path: name, anchors, loads: 1, loadedAt: iso(loadedAt), age }];
  };
  return { statuses, onChange: (listener) => shown.onChange(listener) };
}
