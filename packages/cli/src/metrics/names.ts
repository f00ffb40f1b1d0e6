/**
 * Every metric of ours: its name, what it says, and its labels. Label values are words of a fixed set, or
 * resources as `namespace/name`. No label is called `namespace`: Prometheus gives every target of a cluster one of that name, and
 * moves ours out of the way unless it is told not to.
 */
export const METRICS = {
  info: ['handover_info', 'Which version of handover this is.', ['version']],
  leading: [
    'handover_leading',
    'Whether this process writes: 1 for `run`, and for the operator that leads.',
    [],
  ],
  phase: [
    'handover_authority_phase',
    'The phase of an Authority: 1 for the one it is in, 0 for the others.',
    ['authority', 'phase'],
  ],
  phaseSince: [
    'handover_authority_phase_since_timestamp_seconds',
    'When the phase began; Stable and Retiring: when this process first saw it.',
    ['authority'],
  ],
  caExpiry: [
    'handover_ca_expiry_timestamp_seconds',
    'NotAfter of the CA of a generation.',
    ['authority', 'generation', 'role'],
  ],
  caStart: [
    'handover_ca_not_before_timestamp_seconds',
    'NotBefore of the CA of a generation.',
    ['authority', 'generation', 'role'],
  ],
  leafExpiry: [
    'handover_leaf_expiry_timestamp_seconds',
    'NotAfter of the certificate of a Leaf. The 2,000 that end first.',
    ['leaf', 'authority'],
  ],
  leafStart: [
    'handover_leaf_not_before_timestamp_seconds',
    'NotBefore of the certificate of a Leaf. The 2,000 that end first.',
    ['leaf', 'authority'],
  ],
  leavesMissing: [
    'handover_leaves_missing',
    'Leaves of an Authority that have no certificate.',
    ['authority'],
  ],
  blocked: [
    'handover_blocked_consumers',
    'Consumers that the next step of a rotation waits for.',
    ['authority'],
  ],
  blockingSince: [
    'handover_blocking_consumer_since_timestamp_seconds',
    'Since when a step has waited for this consumer. 50 per Authority at most.',
    ['authority', 'consumer'],
  ],
  consumers: [
    'handover_consumers',
    'Consumers of an Authority, by what the belief rests on that they have loaded what they should.',
    ['authority', 'evidence'],
  ],
  obstacles: ['handover_obstacles', 'Objects that cannot be written now.', ['authority']],
  decisions: ['handover_decisions_total', 'Actions taken, by kind.', ['action']],
  repairs: [
    'handover_drift_repairs_total',
    'Objects put right after somebody else had changed them.',
    ['kind'],
  ],
  reloads: [
    'handover_reloads_total',
    'Files read anew, and programs told to do so, by how it ended.',
    ['what', 'result', 'reason'],
  ],
  probes: [
    'handover_probes_total',
    'Questions to consumers about what they have loaded, by answer.',
    ['how', 'result'],
  ],
  failures: ['handover_failures_total', 'Work that failed and is tried again, by code.', ['code']],
  requests: ['handover_api_requests_total', 'Requests to the API server.', ['verb', 'resource', 'code']],
  requestSeconds: [
    'handover_api_request_duration_seconds',
    'Until the answer of the API server was there; of a watch: until it began.',
    ['verb'],
  ],
  queueDepth: ['handover_queue_depth', 'Work that is due now.', []],
  queuePlanned: ['handover_queue_planned', 'All work that is planned, due or not.', []],
} as const satisfies Record<string, readonly [name: string, help: string, labels: readonly string[]]>;

export type MetricName = keyof typeof METRICS;
