import { type DocumentedCode, type ErrorEntry, entry } from './error-entry.ts';

/** Codes about a cluster and its API server. */
export const KUBE_ERROR_CODES = {
  CRDS_MISSING: entry(
    'Handover’s custom resource definitions are not installed.',
    'Run `handover install | kubectl apply -f -`.',
  ),
  KUBECONFIG_CONTRADICTION: entry(
    'The kubeconfig contradicts itself.',
    'Remove one of the two settings that the message names.',
  ),
  KUBECONFIG_EXEC_FAILED: entry('The credential plugin failed.', 'Run it by hand and read its output.'),
  KUBECONFIG_INCOMPLETE: entry('Something is missing in the kubeconfig.', 'Add what the message names.'),
  KUBECONFIG_MALFORMED: entry('The kubeconfig cannot be parsed.', 'Compare it with `kubectl config view`.'),
  KUBECONFIG_NOT_FOUND: entry(
    'No kubeconfig found, and not running in a pod.',
    'Set `KUBECONFIG` or pass `--kubeconfig`.',
  ),
  KUBECONFIG_NO_CONTEXT: entry(
    'The context is not set, or does not exist.',
    'Run `kubectl config use-context`, or pass `--context`.',
  ),
  KUBECONFIG_UNREADABLE: entry('Permission to read the kubeconfig is missing.', 'Correct its mode.'),
  KUBECONFIG_UNSUPPORTED: entry(
    'The kubeconfig uses something that Handover does not support.',
    'Use another way to authenticate.',
  ),
  KUBE_ABORTED: entry('A request was cancelled.', 'Nothing.'),
  KUBE_ALREADY_EXISTS: entry('The object exists already.', 'Nothing: Handover reads it and decides again.'),
  KUBE_BAD_ANSWER: entry('The answer is not JSON.', 'Check whether the address is that of an API server.'),
  KUBE_BAD_REQUEST: entry(
    'The API server refuses the request.',
    'Report it, with the version of the cluster.',
  ),
  KUBE_CLIENT_CERTIFICATE_REFUSED: entry(
    'OpenSSL refuses the client certificate or its key.',
    'Check whether they belong together.',
  ),
  KUBE_CONFLICT: entry(
    'The object changed in the meantime.',
    'Nothing: Handover reads it and decides again.',
  ),
  KUBE_FORBIDDEN: entry('A right is missing (RBAC).', 'Grant what the message names.'),
  KUBE_GONE: entry('The API server no longer has the requested version.', 'Nothing: Handover lists again.'),
  KUBE_INTERNAL: entry('The API server failed.', 'See its log; Handover tries again.'),
  KUBE_INVALID: entry('The API server refuses the object as invalid.', 'Correct what the message names.'),
  KUBE_METHOD_NOT_ALLOWED: entry('The kind does not support the verb.', 'Check the version of the cluster.'),
  KUBE_NAME_INVALID: entry('The name or namespace of an object is invalid.', 'Correct it.'),
  KUBE_NOT_ACCEPTABLE: entry(
    'The API server does not support the format.',
    'Check the version of the cluster.',
  ),
  KUBE_OBJECT_UNREADABLE: entry(
    'An object of the cluster cannot be parsed, and is ignored.',
    'Correct or delete the object that the message names.',
  ),
  KUBE_NOT_FOUND: entry('The object does not exist.', 'Create it first.'),
  KUBE_PROXY_REFUSED: entry('The proxy of the kubeconfig refused the connection.', 'Check `proxy-url`.'),
  KUBE_STREAM_UNSUPPORTED: entry(
    'A streaming list did not complete.',
    'Nothing: Handover lists in pages instead.',
  ),
  KUBE_TIMEOUT: entry('No answer came in time.', 'Nothing: Handover tries again.'),
  KUBE_TOO_LARGE: entry('A request or answer is too large.', 'Request less at once.'),
  KUBE_TOO_MANY_REQUESTS: entry(
    'The API server limits requests.',
    'Nothing: Handover tries again after the time it names.',
  ),
  KUBE_UNAUTHORIZED: entry('The API server refuses the credentials.', 'Renew them.'),
  KUBE_UNAVAILABLE: entry(
    'The API server does not answer.',
    'Check whether it runs, and whether its CA is the one in the kubeconfig.',
  ),
  KUBE_WATCH_SILENT: entry('A watch was silent for too long.', 'Nothing: Handover opens it again.'),
  LEASE_LOST: entry('This process no longer leads, and writes nothing.', 'Nothing: another replica leads.'),
  NOT_INJECTED: entry(
    'An object requests a bundle and does not get it.',
    'See the message, or `kubectl describe` the object.',
  ),
  NOT_IN_CLUSTER: entry('The process does not run in a pod.', 'Use a kubeconfig.'),
  PLATFORM_UNKNOWN: entry('The API server does not report its version.', 'Nothing: Handover asks again.'),
  SERVICE_MISSING: entry('The Service does not exist.', 'Correct its namespace or name.'),
  SERVICE_WITHOUT_PODS: entry('A Service has no ready pod.', 'Check its pods.'),
  STATE_OF_ANOTHER: entry(
    'An Authority was deleted and created again; it does not get the old CA by itself.',
    'Run one of the two commands in the message: to keep the old CA, or to start with a new one.',
  ),
  URL_REFUSED: entry(
    'The URL is not that of the API server.',
    'Use the API server’s own URL: the token is sent nowhere else.',
  ),
} satisfies Partial<Record<DocumentedCode, ErrorEntry>>;
