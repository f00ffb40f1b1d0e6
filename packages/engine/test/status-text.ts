import { parseCertificates } from '@handover/material';

/** The status document of a process that loaded this bundle and this chain. */
export const statusText = (bundle: string, chain: string, at: number): string => {
  const [leaf] = parseCertificates(chain).certificates;
  const anchors = parseCertificates(bundle).certificates.map(({ fingerprint }) => fingerprint);
  return JSON.stringify({
    version: 1,
    at: new Date(at).toISOString(),
    pid: 1,
    sources: [
      { kind: 'trust', path: '/x', anchors, loads: 1, loadedAt: '', age: 0 },
      {
        kind: 'identity',
        path: '/y',
        anchors,
        leaf: { fingerprint: leaf?.fingerprint, issuerKeyId: leaf?.authorityKeyId },
      },
    ],
  });
};
