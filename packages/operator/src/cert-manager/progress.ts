import { type CertificateRequest, type CertManagerCertificate, conditionIn } from './kinds.ts';

export const timeOf = (text: string | undefined): number => Date.parse(text ?? '') || 0;

/** What another program says, for people. */
export const shortly = (text: string): string => (text.length > 300 ? `${text.slice(0, 300)}…` : text);

export const ownerKey = (namespace = '', uid = ''): string => `${namespace} ${uid}`;

/** Requests with a leaf, by the Certificate that owns them. Only an issuer writes the status of a request. */
export const issuedFor = (
  requests: readonly CertificateRequest[],
): ReadonlyMap<string, readonly CertificateRequest[]> => {
  const all = new Map<string, CertificateRequest[]>();
  for (const request of requests) {
    const { namespace, ownerReferences = [] } = request.metadata;
    if (request.status?.certificate === undefined) continue;
    for (const { uid } of ownerReferences) {
      const key = ownerKey(namespace, uid);
      const known = all.get(key);
      if (known === undefined) all.set(key, [request]);
      else known.push(request);
    }
  }
  return all;
};

/** A leaf that was signed for a Certificate whose Secret does not exist yet. */
export const onItsWay = (
  requests: readonly CertificateRequest[],
  certificate: CertManagerCertificate,
): Uint8Array | undefined => {
  const issued = requests.filter((one) => isOf(one, certificate) && one.status?.certificate !== undefined);
  const last = issued.sort(byAge).at(-1);
  return last === undefined ? undefined : leafIn(last);
};

/** The same bytes at each look, so that they are parsed once. */
const leaves = new WeakMap<CertificateRequest, Uint8Array>();
const leafIn = (request: CertificateRequest): Uint8Array => {
  const bytes = leaves.get(request) ?? Buffer.from(request.status?.certificate ?? '', 'base64');
  leaves.set(request, bytes);
  return bytes;
};

const byAge = (a: CertificateRequest, b: CertificateRequest): number =>
  timeOf(a.metadata.creationTimestamp) - timeOf(b.metadata.creationTimestamp);

const isOf = ({ metadata }: CertificateRequest, certificate: CertManagerCertificate): boolean =>
  metadata.namespace === certificate.metadata.namespace &&
  (metadata.ownerReferences ?? []).some(
    ({ kind, uid }) => kind === 'Certificate' && uid === certificate.metadata.uid,
  );

export const slowness = (
  certificate: CertManagerCertificate,
  requests: readonly CertificateRequest[],
): string => {
  const [last] = requests
    .filter((one) => isOf(one, certificate))
    .sort(byAge)
    .reverse();
  const since = conditionIn(certificate, 'Issuing')?.lastTransitionTime ?? '';
  if (last !== undefined && conditionIn(last, 'Approved') === undefined)
    return `CertificateRequest ${last.metadata.name} is not approved since ${since}: allow the approver to approve Authorities, see docs/recipes/cert-manager.md`;
  const ready = last === undefined ? undefined : conditionIn(last, 'Ready');
  return ready?.message === undefined
    ? `cert-manager has not answered since ${since}: look at its controller`
    : shortly(`CertificateRequest ${last?.metadata.name}: ${ready.message}`);
};
