import { type AnnotationEntry, entriesOf, FIELDS, WORKLOAD } from './annotation-entry.ts';
import { CAINJECTOR, RELOADER, SERVICE_CA, TRUST_MANAGER } from './foreign-marks.ts';
import { RESTARTED_AT } from './marks.ts';

const kubectl = entriesOf('kubectl');
const cainjector = entriesOf('cainjector');
const serviceCa = entriesOf('service-ca');
const reloader = entriesOf('Reloader');
const trustManager = entriesOf('trust-manager');

/** Annotations of other programs that Handover reads or writes. */
export const FOREIGN_ANNOTATIONS: readonly AnnotationEntry[] = [
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
