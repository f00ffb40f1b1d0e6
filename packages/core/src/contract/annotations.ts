import { type AnnotationEntry, entriesOf, FIELDS, WORKLOAD } from './annotation-entry.ts';
import { CAINJECTOR, RELOADER, SERVICE_CA, TRUST_MANAGER } from './foreign-marks.ts';
import {
  ACK_PORT,
  ADOPT,
  AUTHORITY,
  AUTHORITY_UID,
  DISTRUST,
  EVIDENCE,
  INJECT_FROM,
  MANAGED_BY,
  MANAGED_LABEL,
  NUDGE,
  PLATFORM_LABEL,
  PROBE,
  RECORD,
  RELOAD,
  RESTARTED_AT,
  ROTATE,
  STATE_LABEL,
  TAKE_OVER,
  TLS_PROFILE_HASH,
  TRUST_HASH,
  USED_BY,
} from './marks.ts';

const kubectl = entriesOf('kubectl');
const cainjector = entriesOf('cainjector');
const serviceCa = entriesOf('service-ca');
const reloader = entriesOf('Reloader');
const trustManager = entriesOf('trust-manager');

/** Annotations of other programs that Handover reads or writes. */
const FOREIGN_ANNOTATIONS: readonly AnnotationEntry[] = [
  kubectl(
    RESTARTED_AT,
    'a time',
    'pod template',
    'Time of a restart, as `kubectl rollout restart` writes it.',
  ),
  cainjector(
    CAINJECTOR.fromSecret,
    '`namespace/secret`',
    FIELDS,
    'The caBundle is the `ca.crt` of that Secret, which has to allow it.',
  ),
  cainjector(
    CAINJECTOR.fromCertificate,
    '`namespace/certificate`',
    FIELDS,
    'The caBundle is the `ca.crt` of the Secret of that Certificate, or the bundle of the Authority behind a Leaf of that name.',
  ),
  cainjector(CAINJECTOR.fromApiServer, '`"true"`', FIELDS, 'The caBundle is the CA of the API server.'),
  cainjector(CAINJECTOR.allowed, '`"true"`', 'Secret', 'Allows `inject-ca-from-secret` to name this Secret.'),
  cainjector(
    CAINJECTOR.certificateName,
    'a name',
    'Secret',
    'Certificate that the Secret belongs to. Read, never written.',
  ),
  serviceCa(
    SERVICE_CA.secretName,
    'a name',
    'Service',
    'Issue a serving certificate for this Service into that Secret.',
  ),
  serviceCa(
    SERVICE_CA.inject,
    '`"true"`',
    `${FIELDS}, ConfigMap`,
    'The caBundle is that of the Authority which replaces service-ca. A ConfigMap holds `service-ca.crt` and nothing else.',
  ),
  serviceCa(SERVICE_CA.originName, 'a name', 'Secret', 'Written: the Service that the certificate is for.'),
  serviceCa(SERVICE_CA.originUid, 'a UID', 'Secret', 'Written: the UID of that Service.'),
  serviceCa(SERVICE_CA.expiry, 'a time', 'Secret', 'Written: when the certificate expires.'),
  serviceCa(SERVICE_CA.error, 'a sentence', 'Service', 'Written: why the Service has no certificate.'),
  serviceCa(
    SERVICE_CA.errorNum,
    'a number',
    'Service',
    'Written: how often issuing failed. After ten failures Handover does not try again until this annotation is removed.',
  ),
  trustManager(
    TRUST_MANAGER.bundle,
    'a name',
    'ConfigMap, Secret',
    'Written: the Bundle that this object is a target of.',
    'label',
  ),
  trustManager(
    TRUST_MANAGER.hash,
    'hex',
    'ConfigMap, Secret',
    'Written: what the target of a Bundle was made from. A target with another hash is written again.',
  ),
  reloader(
    RELOADER.auto,
    '`"true"`',
    WORKLOAD,
    'Restart when a Secret or ConfigMap that the workload reads changes.',
  ),
  reloader(RELOADER.secrets.auto, '`"true"`', WORKLOAD, 'The same for Secrets only.'),
  reloader(RELOADER.configmaps.auto, '`"true"`', WORKLOAD, 'The same for ConfigMaps only.'),
  reloader(
    RELOADER.secrets.named,
    'names, `.*` for any part',
    WORKLOAD,
    'Restart when one of these Secrets changes.',
  ),
  reloader(
    RELOADER.configmaps.named,
    'names, `.*` for any part',
    WORKLOAD,
    'Restart when one of these ConfigMaps changes.',
  ),
  reloader(RELOADER.secrets.excluded, 'names', WORKLOAD, 'Never restart because of these Secrets.'),
  reloader(RELOADER.configmaps.excluded, 'names', WORKLOAD, 'Never restart because of these ConfigMaps.'),
  reloader(RELOADER.search, '`"true"`', WORKLOAD, 'Restart when an object that carries `match` changes.'),
  reloader(
    RELOADER.match,
    '`"true"`',
    'Secret, ConfigMap',
    'A change restarts workloads that carry `search`.',
  ),
  reloader(
    RELOADER.ignore,
    '`"true"`',
    'Secret, ConfigMap, workload',
    'On a Secret or ConfigMap: a change restarts no workload. On a workload: no change restarts it.',
  ),
];

const yours = entriesOf('you');
const ours = entriesOf('Handover');

/** Annotations and labels of Handover. */
const OWN: readonly AnnotationEntry[] = [
  yours(
    RELOAD,
    '`hot`, `restart`',
    `${WORKLOAD}, Leaf, cert-manager's Certificate`,
    'How programs pick up changed files: `hot`, they reload within `reloadWithin`; `restart`, they have to be restarted. On a Leaf or Certificate it speaks for programs that read the Secret without mounting it in a pod; with `certgen` also for pods without this annotation.',
  ),
  yours(
    ACK_PORT,
    'a port',
    'pod template',
    'Port where the pod serves its status document (`serveStatus` of the runtime), which says what the pod has loaded. Pods with `hostNetwork` are not asked.',
  ),
  yours(
    EVIDENCE,
    '`metrics:9090`, `metrics:9090/stats/prometheus`',
    'pod template',
    'Port and path (default `/metrics`; one that ends in `/metrics` or `/prometheus`) where the pod serves metrics that show what it has loaded: `tls_trust_anchor_info` and `tls_leaf_info`. Pods with `hostNetwork` are not asked.',
  ),
  yours(
    PROBE,
    '`8443`, `8443/mtls`, `5432/postgres`',
    'pod template',
    'Port for a TLS handshake that shows which leaf the pod serves; with `/mtls` also which CAs it trusts; after `/postgres`, `/mysql`, `/smtp`, `/imap`, `/ldap`, `/ftp` or `/xmpp` TLS starts inside that protocol; with `/sni=www.example.org` at the end it asks for that server name. Pods with `hostNetwork` are not asked.',
  ),
  yours(
    USED_BY,
    '`nobody`, `others`',
    "Leaf, cert-manager's Certificate",
    'Which programs read the Secret beside the pods that mount it. `nobody`: none, so that a rotation need not wait until the old leaf has expired; in a directory, none beside the consumers that present the leaf, so that a rotation does not wait `reloadWithin` for readers of its `ca.crt`. `others`: a gateway that reads it through the API, a tool that copies it, a program outside the cluster; no rotation waits for them, and the old CA stays trusted, without its key, until the old leaf has expired.',
  ),
  yours(
    ROTATE,
    'an id',
    'Authority; Secret of the authority (`operator -f`)',
    'Rotate now. The same id never rotates twice; several are separated by commas.',
  ),
  yours(
    DISTRUST,
    'numbers of CA generations',
    'Authority; Secret of the authority (`operator -f`)',
    'Remove these CA generations from every bundle at once. `handover distrust` first lists the connections that would fail.',
  ),
  yours(
    INJECT_FROM,
    '`namespace/authority`',
    FIELDS,
    "Keep the object's caBundle equal to the bundle of this Authority.",
  ),
  yours(
    TAKE_OVER,
    '`"true"`',
    `${FIELDS}; workload`,
    'Take the object over from the controller that manages it now (cainjector, service-ca, Reloader).',
  ),
  yours(
    ADOPT,
    '`"true"`',
    'Authority, Leaf, TrustBundle, TLSProfile; as a label: Secret, ConfigMap, ClusterTrustBundle',
    'Objects of this resource may be overwritten although another program made them. With the admission policies of `handover install` the object has to carry the label too. It does not make Handover trust their CAs: `spec.adopt` of the Authority does.',
  ),
  yours(
    PLATFORM_LABEL,
    '`"true"`',
    'Namespace',
    'Write the ConfigMap `handover-platform` into this namespace, even without a TLSProfile.',
    'label',
  ),
  ours(
    TRUST_HASH,
    'generations, distrusts, leaf and CA',
    'pod template',
    'CA generation and leaf that a restart-only workload was last restarted for. A new value restarts it. One that names a CA which the Authority does not know counts as none.',
  ),
  ours(
    TLS_PROFILE_HASH,
    'SHA-256 of `profile.json`',
    'pod template',
    'TLS profile that a workload was last restarted for.',
  ),
  ours(NUDGE, 'a hash', 'pod', "A change makes the kubelet refresh the pod's volumes at once."),
  ours(
    RECORD,
    'JSON',
    'everything Handover writes',
    'Revision, digests, fingerprints and times of what was written; no key. It is authenticated with a key from the Secret of the authority, and ignored if that fails.',
  ),
  ours(
    AUTHORITY,
    '`namespace/name`',
    'Secret of an authority',
    'The Authority whose state the Secret holds. It is also the type of that Secret.',
  ),
  ours(
    AUTHORITY_UID,
    'a UID',
    'Secret of an authority',
    'UID of the Authority whose state it is. After an Authority was deleted and created again, an administrator sets the new UID here to keep its CA.',
  ),
  ours(
    STATE_LABEL,
    '`"true"`',
    'Secret of an authority',
    'Marks these Secrets, so that they can be listed.',
    'label',
  ),
  ours(MANAGED_LABEL, '`"true"`', 'Secret, ConfigMap', 'Managed by Handover.', 'label'),
  ours(MANAGED_BY, '`handover`', 'Secret, ConfigMap', 'The same, for tools that read this label.', 'label'),
];

/**
 * Every annotation and label that Handover reads or writes: the source of docs/reference/annotations.md.
 */
export const ANNOTATIONS: readonly AnnotationEntry[] = [...OWN, ...FOREIGN_ANNOTATIONS];
