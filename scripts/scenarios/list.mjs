/** The four incidents that Handover exists to end, and the scenarios that it must pass. */
export const INCIDENTS = {
  S0: ['A caBundle that a dead pod wrote', 'carvel kapp-controller, pull request 1808'],
  S1: [
    'A TLS profile without an API server at startup',
    'kubernetes-nmstate, pull requests 1467, 1512, 1554',
  ],
  S2: ['A client that reads its CA once', 'kube-rs, pull request 1962; client-go, pull request 132922'],
  S3: ['A rotation without overlap', 'Envoy Gateway, pull requests 8534 and 8535'],
};

export const SCENARIOS = {
  'S0.1': 'a synced bundle and ten resyncs: no write',
  'S0.2': 'a foreign caBundle is put right within 2 s, by one write',
  'S0.3': 'a caBundle that was removed or is a placeholder, the same',
  'S0.4': 'conflicts: read again each time; for ever: an error, and another try',
  'S0.5': 'a GET that hangs is given up at 10 s; looks never stack',
  'S0.6': 'not ready before the first sync',
  'S0.7': 'an API server that answers 503 at boot is asked again; the process never exits',
  'S0.8': 'two versions side by side: at most 2 writes, no failed handshake in 1,000',
  'S0.9': 'after SIGTERM no write, and the end within 1 s',
  'S0.10': 'a leaf is renewed without a restart, trust first',
  'S0.11': 'an expired pair is replaced at boot',
  'S0.12': 'edits of other managers survive',
  'S0.13': 'the same for both kinds of webhook configurations and CRD conversion',
  'S1.1': 'no API server: serving within 2 s without a call, twelve times',
  'S1.2': 'no file, a malformed file, a last known good copy',
  'S1.3': 'IS_OPENSHIFT is exactly true, or false',
  'S1.4': 'Intermediate to Modern: the file first, one rollout, TLS 1.2 refused',
  'S1.5': 'another field of APIServer changes: no rollout',
  'S1.6': 'no type: Intermediate',
  'S1.7': 'an unknown type, or Custom without a body: Degraded, nothing changes',
  'S1.8': 'one unknown cipher is named; only unknown ones are refused',
  'S1.9': 'only TLS 1.3 suites at minimum 1.2: TLS 1.2 is refused',
  'S1.10': 'a profile off OpenShift, none on OpenShift; metrics unaffected',
  'S1.11': 'not ready while the mounted file is not that of the stamp',
  'S1.12': 'a change reaches hot servers without a restart',
  'S1.13': 'an edited or deleted ConfigMap is restored',
  'S2.1': 'the CA file is swapped: new handshakes succeed within 1 s',
  'S2.2': 'two swaps in a row are both seen',
  'S2.3': '100 handshakes at a reload: one read',
  'S2.4': 'a deleted, empty or wrong file: the last good one stays',
  'S2.5': 'a bad first load is an error that names the path',
  'S2.6': 'a removed CA is refused, on resumption too',
  'S2.7': 'a stream under way is not cut by a reload',
  'S2.8': 'the same bytes again change nothing',
  'S2.9': 'without verification no file is read',
  'S2.10': 'an unknown authority forces one reload and one retry',
  'S2.11': 'a swapped token is sent; a failed read keeps the last one',
  'S2.12': 'all of it for every client, and for servers',
  'S3.1': 'four Secrets in an empty namespace; a rerun writes nothing; only what is missing is made',
  'S3.2': 'new CA, then one old CA; an expired one is left out; no duplicates, no junk',
  'S3.3': 'the webhook’s caBundle equals that of the Secrets',
  'S3.4':
    'a restart-only Deployment is restarted once; forbidden: an error, and a retry does not rotate again',
  'S3.5': 'a crash after any write: the rerun goes on with the same CA',
  'S3.6': 'delays of 0, 30 and 90 s at 50 handshakes a second: none fails',
  'S3.7': 'a component that never confirms holds the leaves back, and is named',
  'S3.8': 'at the end the old CA is gone, and its leaf is refused',
  'S3.9': 'the HMAC is untouched',
  'S3.10': 'a compromised CA is dropped at once, by one command',
  'S3.11': 'Secrets of upstream’s certgen are taken over under load',
};

/** Where we read a scenario otherwise, and why; what is asserted where. */
export const NOTES = {
  'S3.2': `A CA of our own stays in the bundle for an hour after its end, where upstream leaves it out at once: the clocks of peers may be an hour
behind, and those still accept a leaf of it. A CA of another program that has expired, by a second too, is left out when its Secrets are taken over. A takeover of a bundle
with two CAs holds three certificates until it ends, where upstream would drop the oldest: a mesh that was being rotated has peers that still show leaves of
either, and a bundle of two would refuse them. At the end of the takeover it holds one, and from then on two at most.`,
  'S3.6': `The rate of 50 a second in every direction is asserted in a directory home (directory.test.ts of late-parts), by programs in Go. In pods it is that of all directions
together, with at least one a second in each.`,
};
