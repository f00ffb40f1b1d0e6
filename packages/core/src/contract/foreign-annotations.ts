import { type AnnotationEntry, entriesOf, FIELDS, WORKLOAD } from './annotation-entry.ts';

const kubectl = entriesOf('kubectl');
const cainjector = entriesOf('cainjector');
const serviceCa = entriesOf('service-ca');
const reloader = entriesOf('Reloader');

/** Annotations of other programs that Handover reads or writes. */
export const FOREIGN_ANNOTATIONS: readonly AnnotationEntry[] = [
  kubectl(
    'kubectl.kubernetes.io/restartedAt',
    'a time',
    'pod template',
    'Time of a restart, as `kubectl rollout restart` writes it.',
  ),
  cainjector(
    'cert-manager.io/inject-ca-from-secret',
    '`namespace/secret`',
    FIELDS,
    'The caBundle is the `ca.crt` of that Secret, which has to allow it.',
  ),
  cainjector(
    'cert-manager.io/inject-ca-from',
    '`namespace/certificate`',
    FIELDS,
    'The caBundle is the `ca.crt` of the Secret of that Certificate, or the bundle of the Authority behind a Leaf of that name.',
  ),
  cainjector(
    'cert-manager.io/inject-apiserver-ca',
    '`"true"`',
    FIELDS,
    'The caBundle is the CA of the API server.',
  ),
  cainjector(
    'cert-manager.io/allow-direct-injection',
    '`"true"`',
    'Secret',
    'Allows `inject-ca-from-secret` to name this Secret.',
  ),
  cainjector(
    'cert-manager.io/certificate-name',
    'a name',
    'Secret',
    'Certificate that the Secret belongs to. Read, never written.',
  ),
  serviceCa(
    'service.beta.openshift.io/serving-cert-secret-name',
    'a name',
    'Service',
    'Issue a serving certificate for this Service into that Secret.',
  ),
  serviceCa(
    'service.beta.openshift.io/inject-cabundle',
    '`"true"`',
    `${FIELDS}, ConfigMap`,
    'The caBundle is that of the Authority which replaces service-ca. A ConfigMap holds `service-ca.crt` and nothing else.',
  ),
  serviceCa(
    'service.beta.openshift.io/originating-service-name',
    'a name',
    'Secret',
    'Written: the Service that the certificate is for.',
  ),
  serviceCa(
    'service.beta.openshift.io/originating-service-uid',
    'a UID',
    'Secret',
    'Written: the UID of that Service.',
  ),
  serviceCa('service.beta.openshift.io/expiry', 'a time', 'Secret', 'Written: when the certificate expires.'),
  serviceCa(
    'service.beta.openshift.io/serving-cert-generation-error',
    'a sentence',
    'Service',
    'Written: why the Service has no certificate.',
  ),
  serviceCa(
    'service.beta.openshift.io/serving-cert-generation-error-num',
    'a number',
    'Service',
    'Written: how often issuing failed. After ten failures Handover does not try again until this annotation is removed.',
  ),
  reloader(
    'reloader.stakater.com/auto',
    '`"true"`',
    WORKLOAD,
    'Restart when a Secret or ConfigMap that the workload reads changes.',
  ),
  reloader('secret.reloader.stakater.com/auto', '`"true"`', WORKLOAD, 'The same for Secrets only.'),
  reloader('configmap.reloader.stakater.com/auto', '`"true"`', WORKLOAD, 'The same for ConfigMaps only.'),
  reloader(
    'secret.reloader.stakater.com/reload',
    'names, `.*` for any part',
    WORKLOAD,
    'Restart when one of these Secrets changes.',
  ),
  reloader(
    'configmap.reloader.stakater.com/reload',
    'names, `.*` for any part',
    WORKLOAD,
    'Restart when one of these ConfigMaps changes.',
  ),
  reloader(
    'secrets.exclude.reloader.stakater.com/reload',
    'names',
    WORKLOAD,
    'Never restart because of these Secrets.',
  ),
  reloader(
    'configmaps.exclude.reloader.stakater.com/reload',
    'names',
    WORKLOAD,
    'Never restart because of these ConfigMaps.',
  ),
  reloader(
    'reloader.stakater.com/search',
    '`"true"`',
    WORKLOAD,
    'Restart when an object that carries `match` changes.',
  ),
  reloader(
    'reloader.stakater.com/match',
    '`"true"`',
    'Secret, ConfigMap',
    'A change restarts workloads that carry `search`.',
  ),
  reloader(
    'reloader.stakater.com/ignore',
    '`"true"`',
    'Secret, ConfigMap, workload',
    'On a Secret or ConfigMap: a change restarts no workload. On a workload: no change restarts it.',
  ),
];
