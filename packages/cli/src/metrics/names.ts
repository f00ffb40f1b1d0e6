/**
 * Every metric: its name, help text and labels. Label values are words of a fixed set, or resources as `namespace/name`. No label is
 * called `namespace`: Prometheus adds one of that name to every target of a cluster, and by default renames the metric's own.
 */
export const METRICS = {
  info: ['handover_info', 'Version of handover.', ['version']],
  leading: [
    'handover_leading',
    'Whether this process writes: 1 for `run`, and for the operator replica that leads.',
    [],
  ],
  phase: [
    'handover_authority_phase',
    'Phase of an Authority: 1 for the current phase, 0 for the others.',
    ['authority', 'phase'],
  ],
  phaseSince: [
    'handover_authority_phase_since_timestamp_seconds',
    'When the phase began. For Stable and Retiring: when this process first saw it.',
    ['authority'],
  ],
  caExpiry: [
    'handover_ca_expiry_timestamp_seconds',
    'NotAfter of a CA generation.',
    ['authority', 'generation', 'role'],
  ],
  caStart: [
    'handover_ca_not_before_timestamp_seconds',
    'NotBefore of a CA generation.',
    ['authority', 'generation', 'role'],
  ],
  retainedUntil: [
    'handover_ca_retained_until_timestamp_seconds',
    'When a CA whose key is destroyed leaves the bundles at the latest.',
    ['authority', 'generation'],
  ],
  retainedWorkloads: [
    'handover_ca_retained_workloads',
    'Workloads in other namespaces for which a CA whose key is destroyed stays trusted.',
    ['authority', 'generation'],
  ],
  leafExpiry: [
    'handover_leaf_expiry_timestamp_seconds',
    'NotAfter of the certificate of a Leaf. Only the 2,000 that expire first.',
    ['leaf', 'authority'],
  ],
  leafStart: [
    'handover_leaf_not_before_timestamp_seconds',
    'NotBefore of the certificate of a Leaf. Only the 2,000 that expire first.',
    ['leaf', 'authority'],
  ],
  leavesMissing: ['handover_leaves_missing', 'Leaves of an Authority without a certificate.', ['authority']],
  blocked: [
    'handover_blocked_consumers',
    'Consumers that the next step of a rotation waits for.',
    ['authority'],
  ],
  blockingSince: [
    'handover_blocking_consumer_since_timestamp_seconds',
    'Since when a step has waited for this consumer. At most 50 per Authority.',
    ['authority', 'consumer'],
  ],
  consumers: [
    'handover_consumers',
    "Consumers of an Authority, by evidence that they have loaded their files, and by what that stands on: shown, assumed (an owner's word), notNeeded or none.",
    ['authority', 'evidence', 'stands'],
  ],
  shownExpiry: [
    'handover_consumer_shown_expiry_timestamp_seconds',
    'NotAfter of the certificate that a consumer shows now, the earliest of its processes. At most 500 per Authority, those that are wrong first.',
    ['authority', 'consumer'],
  ],
  shownState: [
    'handover_consumer_shows',
    'What a consumer shows now, the worst of its processes, as label: newest, older (than its file), other (the certificate of another Leaf), unseen, foreign or expired. 1: clients are refused, or will be; 0: it is in order. At most 500 per Authority, those that are wrong first.',
    ['authority', 'consumer', 'state'],
  ],
  obstacles: ['handover_obstacles', 'Objects that cannot be written now.', ['authority']],
  decisions: ['handover_decisions_total', 'Actions taken, by kind.', ['action']],
  repairs: [
    'handover_drift_repairs_total',
    'Objects restored after another program had changed them.',
    ['kind'],
  ],
  reloads: [
    'handover_reloads_total',
    'Reloads of files, and programs told to reload, by result.',
    ['what', 'result', 'reason'],
  ],
  hookFailing: ['handover_hook_failing', 'Whether the last run of a hook failed: 1, or 0.', ['hook']],
  probes: ['handover_probes_total', 'Requests to consumers for evidence, by answer.', ['how', 'result']],
  failures: ['handover_failures_total', 'Work that failed and will be retried, by error code.', ['code']],
  requests: ['handover_api_requests_total', 'Requests to the API server.', ['verb', 'resource', 'code']],
  requestSeconds: [
    'handover_api_request_duration_seconds',
    'Time until the API server answered; for a watch, until it began.',
    ['verb'],
  ],
  queueDepth: ['handover_queue_depth', 'Work items that are due now.', []],
  queuePlanned: ['handover_queue_planned', 'Work items that are planned, due or not.', []],
} as const satisfies Record<string, readonly [name: string, help: string, labels: readonly string[]]>;

export type MetricName = keyof typeof METRICS;
