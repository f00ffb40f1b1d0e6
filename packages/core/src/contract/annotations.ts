/** Who sets it. */
export type AnnotationOwner = 'you' | 'Handover' | 'cainjector' | 'service-ca' | 'Reloader' | 'kubectl';

export interface AnnotationEntry {
  readonly name: string;
  readonly is: 'annotation' | 'label';
  readonly owner: AnnotationOwner;
  /** What may stand there. */
  readonly value: string;
  /** Kinds of objects it counts on. */
  readonly on: string;
  readonly means: string;
}

const FIELDS = 'webhook configurations, APIService, CustomResourceDefinition';
const WORKLOAD = 'workload, pod template';

const entry = (
  owner: AnnotationOwner,
  name: string,
  value: string,
  on: string,
  means: string,
  is: AnnotationEntry['is'] = 'annotation',
): AnnotationEntry => ({ owner, name, value, on, means, is });

/**
 * Every annotation and label that Handover reads or writes, its own and those of others: docs/reference/annotations.md is made from
 * this list, and a test compares it with the code, both ways.
 */
export const ANNOTATIONS: readonly AnnotationEntry[] = [
  entry(
    'you',
    'handover.dev/reload',
    '`hot`, `restart`',
    `${WORKLOAD}, Leaf`,
    'How changed files are picked up: `hot` by itself within `reloadWithin`, `restart` by a restart. On a Leaf: for readers that no pod shows; for `certgen` also for pods that say nothing themselves.',
  ),
  entry(
    'you',
    'handover.dev/ack-port',
    'a port',
    'pod template',
    'Where the pod serves its status document (`serveStatus` of the runtime): it says itself what it has loaded. Pods with `hostNetwork` are not asked.',
  ),
  entry(
    'you',
    'handover.dev/probe',
    '`8443`, `8443/mtls`',
    'pod template',
    'Where a handshake may be made to see which leaf is served; with `/mtls` also which CAs are trusted. Pods with `hostNetwork` are not asked.',
  ),
  entry(
    'you',
    'handover.dev/used-by',
    '`nobody`',
    'Leaf',
    'Nobody outside the pods that can be seen reads its Secret, so that a rotation need not wait until the old leaf has expired.',
  ),
  entry(
    'you',
    'handover.dev/rotate',
    'an id',
    'Authority; Secret of the authority (`operator -f`)',
    'Rotate now. The same id never rotates twice; several are separated by commas.',
  ),
  entry(
    'you',
    'handover.dev/distrust',
    'numbers of generations',
    'Authority; Secret of the authority (`operator -f`)',
    'Drop these generations everywhere at once. `handover distrust` says first who would fail.',
  ),
  entry(
    'you',
    'handover.dev/inject-ca-from',
    '`namespace/authority`',
    FIELDS,
    'Keep its caBundle equal to the bundle of this Authority.',
  ),
  entry(
    'you',
    'handover.dev/take-over',
    '`"true"`',
    `${FIELDS}; workload`,
    'Take it over from the controller that keeps it now (cainjector, service-ca, Reloader).',
  ),
  entry(
    'you',
    'handover.dev/adopt',
    '`"true"`',
    'Authority, Leaf, TrustBundle, TLSProfile; as a label: Secret, ConfigMap, ClusterTrustBundle',
    'The objects that this resource asks for may be overwritten though another program made them. With the admission policies of `handover install` the object has to carry it too, as a label. It says nothing about trust: `spec.adopt` of the Authority does.',
  ),
  entry(
    'you',
    'handover.dev/platform-facts',
    '`"true"`',
    'Namespace',
    'Keep the ConfigMap `handover-platform` there, also without a TLSProfile.',
    'label',
  ),
  entry(
    'Handover',
    'handover.dev/trust-hash',
    'generations and distrusts',
    'pod template',
    'What a restart-only workload was last restarted for; a new value restarts it.',
  ),
  entry(
    'Handover',
    'handover.dev/tls-profile-hash',
    'SHA-256 of `profile.json`',
    'pod template',
    'Which TLS profile a workload was last restarted for.',
  ),
  entry(
    'Handover',
    'handover.dev/nudge',
    'a hash',
    'pod',
    'A change of it makes the kubelet refresh the volumes of the pod at once.',
  ),
  entry(
    'Handover',
    'handover.dev/record',
    'JSON',
    'everything Handover writes',
    'Revision, digests, fingerprints and times of what was written, with a seal that only the state of an authority can make; no key. Without a seal that fits it counts for nothing.',
  ),
  entry(
    'Handover',
    'handover.dev/authority',
    '`namespace/name`',
    'Secret of an authority',
    'Whose state it is. The same word is the type of that Secret.',
  ),
  entry(
    'Handover',
    'handover.dev/authority-uid',
    'a UID',
    'Secret of an authority',
    'Which Authority the state belongs to. An administrator changes it so that an Authority which was deleted and made again goes on with its CA.',
  ),
  entry(
    'Handover',
    'handover.dev/authority-state',
    '`"true"`',
    'Secret of an authority',
    'How these Secrets are found.',
    'label',
  ),
  entry('Handover', 'handover.dev/managed', '`"true"`', 'Secret, ConfigMap', 'Kept by Handover.', 'label'),
  entry(
    'Handover',
    'app.kubernetes.io/managed-by',
    '`handover`',
    'Secret, ConfigMap',
    'The same, for tools that know this label.',
    'label',
  ),
  entry(
    'kubectl',
    'kubectl.kubernetes.io/restartedAt',
    'a time',
    'pod template',
    'Written together with a stamp, as `kubectl rollout restart` does.',
  ),
  entry(
    'cainjector',
    'cert-manager.io/inject-ca-from-secret',
    '`namespace/secret`',
    FIELDS,
    'Its caBundle is the `ca.crt` of that Secret, which has to allow it.',
  ),
  entry(
    'cainjector',
    'cert-manager.io/inject-ca-from',
    '`namespace/certificate`',
    FIELDS,
    'Its caBundle is the `ca.crt` of the Secret of that Certificate, or the bundle of the Authority behind a Leaf of that name.',
  ),
  entry(
    'cainjector',
    'cert-manager.io/inject-apiserver-ca',
    '`"true"`',
    FIELDS,
    'Its caBundle is the CA of the API server.',
  ),
  entry(
    'cainjector',
    'cert-manager.io/allow-direct-injection',
    '`"true"`',
    'Secret',
    'It may be named by `inject-ca-from-secret`.',
  ),
  entry(
    'cainjector',
    'cert-manager.io/certificate-name',
    'a name',
    'Secret',
    'Which Certificate it belongs to; read, never written.',
  ),
  entry(
    'service-ca',
    'service.beta.openshift.io/serving-cert-secret-name',
    'a name',
    'Service',
    'Make a serving certificate for this Service in that Secret.',
  ),
  entry(
    'service-ca',
    'service.beta.openshift.io/inject-cabundle',
    '`"true"`',
    `${FIELDS}, ConfigMap`,
    'Its caBundle is that of the Authority which stands in for service-ca; a ConfigMap holds `service-ca.crt` and nothing else.',
  ),
  entry(
    'service-ca',
    'service.beta.openshift.io/originating-service-name',
    'a name',
    'Secret',
    'Written: the Service it was made for.',
  ),
  entry(
    'service-ca',
    'service.beta.openshift.io/originating-service-uid',
    'a UID',
    'Secret',
    'Written: the UID of that Service.',
  ),
  entry(
    'service-ca',
    'service.beta.openshift.io/expiry',
    'a time',
    'Secret',
    'Written: when its certificate ends.',
  ),
  entry(
    'service-ca',
    'service.beta.openshift.io/serving-cert-generation-error',
    'a sentence',
    'Service',
    'Written: why it has no certificate.',
  ),
  entry(
    'service-ca',
    'service.beta.openshift.io/serving-cert-generation-error-num',
    'a number',
    'Service',
    'Written: how often it was tried. After the tenth time it is left alone until this is removed.',
  ),
  entry(
    'Reloader',
    'reloader.stakater.com/auto',
    '`"true"`',
    WORKLOAD,
    'Restart when anything it reads changes.',
  ),
  entry('Reloader', 'secret.reloader.stakater.com/auto', '`"true"`', WORKLOAD, 'The same for Secrets only.'),
  entry(
    'Reloader',
    'configmap.reloader.stakater.com/auto',
    '`"true"`',
    WORKLOAD,
    'The same for ConfigMaps only.',
  ),
  entry(
    'Reloader',
    'secret.reloader.stakater.com/reload',
    'names, `.*` for any part',
    WORKLOAD,
    'Restart when one of these Secrets changes.',
  ),
  entry(
    'Reloader',
    'configmap.reloader.stakater.com/reload',
    'names, `.*` for any part',
    WORKLOAD,
    'Restart when one of these ConfigMaps changes.',
  ),
  entry(
    'Reloader',
    'secrets.exclude.reloader.stakater.com/reload',
    'names',
    WORKLOAD,
    'Never restart because of these Secrets.',
  ),
  entry(
    'Reloader',
    'configmaps.exclude.reloader.stakater.com/reload',
    'names',
    WORKLOAD,
    'Never restart because of these ConfigMaps.',
  ),
  entry(
    'Reloader',
    'reloader.stakater.com/search',
    '`"true"`',
    WORKLOAD,
    'Restart when an object that carries `match` changes.',
  ),
  entry(
    'Reloader',
    'reloader.stakater.com/match',
    '`"true"`',
    'Secret, ConfigMap',
    'It counts for whoever carries `search`.',
  ),
  entry(
    'Reloader',
    'reloader.stakater.com/ignore',
    '`"true"`',
    'Secret, ConfigMap, workload',
    'It restarts nobody; on a workload: nobody restarts it.',
  ),
];
