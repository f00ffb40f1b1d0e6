export interface ErrorEntry {
  readonly means: string;
  readonly todo: string;
}

const entry = (means: string, todo: string): ErrorEntry => ({ means, todo });

/**
 * Every code of HandoverError, for docs/reference/errors.md. The message of an error says more; this says what one can count on. A test
 * compares it with the code, both ways.
 */
export const ERROR_CODES: Readonly<Record<string, ErrorEntry>> = {
  USAGE: entry('The command was called wrongly; exit code 2.', 'See `handover COMMAND --help`.'),
  INTERNAL: entry('A mistake in Handover itself.', 'Report it with the command you ran.'),

  ADDRESS_REFUSED: entry(
    'An Authority names a place that the operator does not ask.',
    'Name a Service of the Authority’s own namespace; see `spec.consumers`.',
  ),
  ADDRESS_UNUSABLE: entry(
    'The address for health or metrics cannot be listened on.',
    'Choose another `--health-address` or `--metrics-address`.',
  ),
  ADOPT_REFUSED: entry(
    'A CA that spec.adopt names cannot be taken over with its key.',
    'Put the key of the CA beside it, or adopt a root by its fingerprint.',
  ),
  ADOPT_UNDECIDED: entry(
    'CAs are in use that no state here knows; replacing them in one go would fail handshakes.',
    'Do one of the things that the message lists: restore the state, name the CAs in `spec.adopt`, or delete the objects.',
  ),
  AUTHORITY_UNKNOWN: entry(
    'There is no Authority of that name in this home.',
    'Correct the name, or `--home`; the message lists those there are.',
  ),
  BUNDLE_EMPTY: entry(
    'A bundle would hold no certificate.',
    'Nothing was written. Give its sources a certificate.',
  ),
  CERTGEN_KEPT_ELSEWHERE: entry(
    'An operator, or a Job of another namespace, keeps these objects.',
    'Ask it with `handover rotate`, or give `--operator-namespace`.',
  ),
  CERTGEN_NO_KEY: entry(
    'A Secret is missing, and nobody has the key of the CA in the others.',
    'Run with `--overwrite` to take them over.',
  ),
  CERTIFICATE_EXPIRED: entry(
    'The certificate has ended.',
    'Write a new one; the last good one stays loaded.',
  ),
  CERTIFICATE_MALFORMED: entry('It is no X.509 certificate.', 'Copy the file again, whole.'),
  CERTIFICATE_NOT_YET_VALID: entry('The certificate is not valid yet.', 'Check the clock of this machine.'),
  CLOCK_BEHIND: entry(
    'The clock is earlier than what is written in the state.',
    'Set the clock; or, if it is right, `handover clock --confirm`. Nothing is done until then.',
  ),
  CONFLICT: entry(
    'Somebody changed the same object meanwhile.',
    'Nothing: it is looked at and decided again.',
  ),
  CRDS_MISSING: entry(
    'The cluster does not know Handover’s resources.',
    'Run `handover install | kubectl apply -f -`.',
  ),
  EMBED_STOPPED: entry('`embed` was stopped before its server was ready.', 'Nothing, if you stopped it.'),
  FILES_ACCOUNT_UNKNOWN: entry(
    'The user or group in `files` does not exist.',
    'Correct it, or give its number.',
  ),
  FILE_EMPTY: entry('A file is empty.', 'Write it; the last good content stays loaded.'),
  FILE_FORBIDDEN: entry('A file may not be read.', 'Correct its owner or mode.'),
  FILE_LINK_LOOP: entry('Links lead in a circle, or too far.', 'Correct the link.'),
  FILE_MISSING: entry('A file does not exist.', 'Correct the path, or mount or create it.'),
  FILE_NOT_REGULAR: entry('It is a directory, pipe or device.', 'Name a file.'),
  FILE_TOO_LARGE: entry('A file is larger than any of its kind.', 'Check whether it is the right one.'),
  FILE_UNREADABLE: entry('A file cannot be read.', 'Check its name and rights.'),
  GENERATION_UNKNOWN: entry(
    'The authority has no such generation.',
    'Take one of those that the message lists.',
  ),
  HOME_DISK_FULL: entry('The disk or the quota is full.', 'Free some space; it is tried again.'),
  HOME_EMPTY: entry('The directory declares nothing.', 'Start with `handover init DIR`.'),
  HOME_FORBIDDEN: entry('A file of the directory may not be written.', 'Run as its owner, or as root.'),
  HOME_FOREIGN_OWNER: entry(
    'The directory, a file or program it names, the target of a link, or a folder above belongs to another user.',
    'Run as that user, or look at what is in it and run the `chown` that the message names.',
  ),
  HOME_IO_FAILED: entry('The system refused to read or write a file.', 'See the message; it is tried again.'),
  HOME_LOCK_LOST: entry(
    'Another process took the directory while this one was paused, or its lock was removed.',
    'Nothing more was written. See that only one runs, then start it again.',
  ),
  HOME_LOCKED: entry(
    'Another process works on this directory.',
    'Let it do the work, or stop it. If it ran in another container or on another machine and is gone, wait a minute, or remove `state/lock`.',
  ),
  HOME_MALFORMED: entry('Something is in the way of a file of ours.', 'Move it away.'),
  HOME_MISSING: entry('There is no such directory.', 'Correct `--home`, or start with `handover init DIR`.'),
  HOME_NOT_EMPTY: entry(
    '`init` found resources that are there already.',
    'Edit them, or choose another directory.',
  ),
  HOME_READ_ONLY: entry('The file system is read-only.', 'Mount it for writing.'),
  HOME_STATE_EXPOSED: entry(
    'Others may read the keys in `state`.',
    '`chmod 0700` it, and replace the keys if somebody could have read them.',
  ),
  HOME_WRITABLE_BY_OTHERS: entry(
    'Other users may write the directory, a file or program it names, the target of a link, or a folder above.',
    'Run the `chmod` that the message names, and look at what is in it.',
  ),
  IDENTITY_REFUSED: entry('OpenSSL refuses the certificate or key.', 'Use a stronger key.'),
  INSTALL_OPTION: entry('An option of `handover install` is wrong.', 'See `handover install --help`.'),
  ISSUANCE_LOG_UNWRITABLE: entry(
    'The issuance log cannot be written, so nothing is issued.',
    'Mend what the message names; it is tried again.',
  ),
  ISSUE_DATES: entry('A certificate would end before it begins.', 'Check the lifetimes and the clock.'),
  ISSUE_GENERATION: entry('A generation is not a whole number from 1 on.', 'Report it.'),
  ISSUE_KEY_MISMATCH: entry('The signing key does not belong to the CA.', 'Restore the state; report it.'),
  ISSUE_KEY_UNSUPPORTED: entry(
    'No certificate is issued with such a key.',
    'Use ECDSA P-256 or P-384, or RSA of 2048 bits or more.',
  ),
  ISSUE_NAME: entry('A DNS name, IP address or URI is malformed.', 'Correct it in the Leaf.'),
  ISSUE_NOT_A_CA: entry('What should sign is not a CA.', 'Give a CA.'),
  ISSUE_NO_NAME: entry(
    'A leaf has no name at all.',
    'Give `subject.commonName`, `dnsNames`, `ipAddresses` or `uris`.',
  ),
  ISSUE_SERIAL: entry('A serial number has too little randomness.', 'Report it.'),
  ISSUE_SUBJECT: entry('A name in the subject is too long or malformed.', 'Shorten it to 64 characters.'),
  ISSUE_USAGES: entry('A leaf is for neither server nor client.', 'Give `usages`.'),
  KEY_AMBIGUOUS: entry('There is more than one private key in the file.', 'Keep one.'),
  KEY_ENCRYPTED: entry('The private key has a passphrase.', 'Store it without one.'),
  KEY_LABEL_REFUSED: entry('Something other than a private key is in the file.', 'Take it out.'),
  KEY_MALFORMED: entry('The private key cannot be read.', 'Write it again.'),
  KEY_MISMATCH: entry(
    'Key and certificate do not belong together.',
    'Write both together; the last good pair stays loaded.',
  ),
  KEY_MISSING: entry('There is no private key in the file.', 'Give PEM text.'),
  KEY_NOT_PRIVATE: entry('A public key stands where a private one should.', 'Give the private key.'),
  KUBECONFIG_CONTRADICTION: entry('The kubeconfig says two things at once.', 'Keep the one you mean.'),
  KUBECONFIG_EXEC_FAILED: entry('The credential plugin failed.', 'Run it by hand and see what it says.'),
  KUBECONFIG_INCOMPLETE: entry('Something is missing in the kubeconfig.', 'Add what the message names.'),
  KUBECONFIG_MALFORMED: entry('The kubeconfig cannot be parsed.', 'Compare it with `kubectl config view`.'),
  KUBECONFIG_NOT_FOUND: entry(
    'There is no kubeconfig, and this is no pod.',
    'Set `KUBECONFIG` or give `--kubeconfig`.',
  ),
  KUBECONFIG_NO_CONTEXT: entry(
    'The context is not set, or not there.',
    'Run `kubectl config use-context`, or give `--context`.',
  ),
  KUBECONFIG_UNREADABLE: entry('The kubeconfig may not be read.', 'Correct its mode.'),
  KUBECONFIG_UNSUPPORTED: entry(
    'The kubeconfig asks for what Handover cannot do.',
    'Use another way to authenticate.',
  ),
  KUBE_ABORTED: entry('A request was given up, as asked.', 'Nothing.'),
  KUBE_ALREADY_EXISTS: entry('The object exists already.', 'Nothing: it is read and decided again.'),
  KUBE_BAD_ANSWER: entry('The answer is no JSON.', 'Check whether the address is that of an API server.'),
  KUBE_BAD_REQUEST: entry(
    'The API server refuses the request.',
    'Report it, with the version of the cluster.',
  ),
  KUBE_CLIENT_CERTIFICATE_REFUSED: entry(
    'OpenSSL refuses the client certificate or its key.',
    'Check whether they belong together.',
  ),
  KUBE_CONFLICT: entry('The object changed meanwhile.', 'Nothing: it is read and decided again.'),
  KUBE_FORBIDDEN: entry('A right is missing (RBAC).', 'Grant what the message names.'),
  KUBE_GONE: entry('A version is no longer kept by the API server.', 'Nothing: it is listed again.'),
  KUBE_INTERNAL: entry('The API server failed.', 'See its log; it is tried again.'),
  KUBE_INVALID: entry('The API server finds the object invalid.', 'Correct what the message names.'),
  KUBE_METHOD_NOT_ALLOWED: entry('The kind has no such verb.', 'Check the version of the cluster.'),
  KUBE_NAME_INVALID: entry('It cannot be the name or namespace of an object.', 'Correct it.'),
  KUBE_NOT_ACCEPTABLE: entry('The server has no such format.', 'Check the version of the cluster.'),
  KUBE_OBJECT_UNREADABLE: entry(
    'An object of the cluster has a form that cannot be read; it is left out.',
    'Look at the object that the message names; correct or delete it.',
  ),
  KUBE_NOT_FOUND: entry('The object does not exist.', 'Create it first.'),
  KUBE_PROXY_REFUSED: entry('The proxy of the kubeconfig refused the connection.', 'Check `proxy-url`.'),
  KUBE_STREAM_UNSUPPORTED: entry(
    'A list as a stream never came to its end.',
    'Nothing: it is listed in pages instead.',
  ),
  KUBE_TIMEOUT: entry('There was no answer in time.', 'Nothing: it is tried again.'),
  KUBE_TOO_LARGE: entry('A request or answer is too large.', 'Ask for less at once.'),
  KUBE_TOO_MANY_REQUESTS: entry(
    'The API server asks for patience.',
    'Nothing: it is tried again when it says.',
  ),
  KUBE_UNAUTHORIZED: entry('The credentials are not accepted.', 'Renew them.'),
  KUBE_UNAVAILABLE: entry(
    'The API server does not answer.',
    'Check whether it runs, and whether its CA is the one in the kubeconfig.',
  ),
  KUBE_WATCH_SILENT: entry('A watch has said nothing for too long.', 'Nothing: it is opened again.'),
  LEASE_LOST: entry(
    'This process leads no longer, so that it writes nothing.',
    'Nothing: another one leads.',
  ),
  LOAD_FAILED: entry('A file could not be loaded.', 'See the message; the last good content stays loaded.'),
  NOT_INJECTED: entry(
    'An object asks for a bundle and does not get it.',
    'See the message, or `kubectl describe` the object.',
  ),
  NOT_IN_CLUSTER: entry('This is not a pod.', 'Use a kubeconfig.'),
  NOT_LOADED: entry('Nothing has been loaded yet.', 'Wait until it is ready.'),
  OBJECT_OBSTACLE: entry('An object cannot be written.', 'Remove what the message names; it is tried again.'),
  OBSTRUCTED: entry(
    'Objects of an authority cannot be written.',
    'Remove what the message names; it is tried again.',
  ),
  OPTION_INVALID: entry('An option of a function is wrong.', 'Correct the call.'),
  PEER_MISSING: entry('An optional package is not installed.', 'Install what the message names.'),
  PEM_BAD_BASE64: entry('The content of a PEM block is no base64.', 'Copy the file again, whole.'),
  PEM_BAD_BOUNDARY: entry('BEGIN and END do not fit together.', 'Copy the file again, whole.'),
  PEM_BINARY: entry('It is binary data, not PEM.', 'Convert it with `openssl x509 -inform der`.'),
  PEM_LABEL_REFUSED: entry('A block is there that does not belong.', 'Take it out.'),
  PEM_NO_CERTIFICATE: entry('There is no certificate.', 'Give a file with CERTIFICATE blocks.'),
  PEM_PRIVATE_KEY_IN_BUNDLE: entry(
    'A private key lies among certificates.',
    'Take it out, and replace the key if others could read the file.',
  ),
  PEM_TOO_LARGE: entry('The text is too large for PEM.', 'Check whether it is the right file.'),
  PEM_TRUNCATED: entry('A block has no END.', 'Copy the file again, whole.'),
  PID_FILE_REFUSED: entry(
    'A pid file names a process that its owner could not signal, or is no small file of one owner.',
    'Correct what the message names, or use `reload.command`.',
  ),
  PLATFORM_UNKNOWN: entry('The API server does not say its version.', 'Nothing: it is asked again.'),
  PORT_TAKEN: entry('The port of the dashboard is in use.', 'Choose another one.'),
  RELOAD_FAILED: entry(
    'A program could not be told to reload.',
    'See the message; the files are in place and it is tried again.',
  ),
  RESOURCE_CONFLICT: entry('Two resources would write the same object.', 'Give one of them another name.'),
  RESOURCE_DUPLICATE: entry('A resource is declared twice.', 'Remove one of them.'),
  RESOURCE_INVALID: entry(
    'A resource has a wrong field.',
    'Correct what the message names; see [resources](resources.md).',
  ),
  ROLLOUT_UNSUPPORTED: entry('A program has to be restarted, and nothing here can.', 'Restart it by hand.'),
  ROTATION_ID_INVALID: entry(
    'It cannot be the id of a rotation.',
    'Use up to 128 letters, digits and `-._:@+`.',
  ),
  ROTATION_UNFINISHED: entry(
    'The time to wait is over, and the rotation is not.',
    'It goes on, or goes on when asked again with the same id; the message says who is waited for.',
  ),
  ROTATION_WAITS: entry(
    'The last rotation has not ended.',
    'Run again later; the message says who is waited for.',
  ),
  SCHEMA_NOT_STRUCTURAL: entry(
    'A schema cannot become a CRD.',
    'Change it in `packages/core/src/resources`.',
  ),
  SEEN_UNREADABLE: entry(
    'What the operator noted for others cannot be read.',
    'Delete the ConfigMap; it is written anew.',
  ),
  SERVICE_MISSING: entry('There is no such Service.', 'Correct its namespace or name.'),
  SERVICE_WITHOUT_PODS: entry('A Service has nothing ready behind it.', 'See that its pods run.'),
  SOURCE_MISSING: entry('A source of a bundle does not exist.', 'Create it; what was written stays.'),
  STATE_FOREIGN: entry('The state is of another authority or version.', 'Restore the right one.'),
  STATE_INCOMPLETE: entry('The state lacks a certificate or key.', 'Restore it, or ask for a rotation.'),
  STATE_OF_ANOTHER: entry(
    'An Authority was deleted and made again; the CA of the old one is not handed on by itself.',
    'Run one of the two commands in the message: go on with the old CA, or begin with a new one.',
  ),
  STATE_UNREADABLE: entry(
    'The state of an authority is damaged.',
    'Restore it from a backup. Without it nothing is changed until `spec.adopt` names the CAs to keep trusting, or their objects are deleted.',
  ),
  STATUS_LISTEN_FAILED: entry(
    'The status document cannot be served there.',
    'Choose another port or socket.',
  ),
  STATUS_WRITE_FAILED: entry('The status document cannot be written.', 'Correct its path.'),
  TLS_CLOSED: entry('The server closes every connection without TLS.', 'Check the address and port.'),
  TLS_NOT_TLS: entry('The server speaks, but not TLS.', 'Check the port, or give `--starttls`.'),
  TLS_PROFILE_CIPHERS_UNSUPPORTED: entry(
    'A warning: some ciphers are not known here.',
    'Nothing, or take them out.',
  ),
  TLS_PROFILE_CUSTOM_EMPTY: entry('Type Custom has no `custom`.', 'Give `ciphers` and `minTLSVersion`.'),
  TLS_PROFILE_GROUPS_UNSUPPORTED: entry(
    'A warning: some groups are not known here.',
    'Nothing, or take them out.',
  ),
  TLS_PROFILE_INVALID: entry('It is no TLS profile.', 'Correct what the message names.'),
  TLS_PROFILE_MINIMUM_RAISED: entry(
    'A warning: only TLS 1.3 suites are listed, so that the minimum is TLS 1.3.',
    'Nothing, or list others.',
  ),
  TLS_PROFILE_NOT_HERE: entry('Type OpenShift needs the Kubernetes home.', 'Name a profile.'),
  TLS_PROFILE_NO_CIPHER: entry('No cipher of the list is known here.', 'List one that is.'),
  TLS_PROFILE_NO_GROUP: entry('No group of the list is known here.', 'List one that is.'),
  TLS_PROFILE_SOURCE_FORBIDDEN: entry('`APIServer/cluster` may not be read.', 'Install with `--openshift`.'),
  TLS_PROFILE_SOURCE_MISSING: entry('There is no `APIServer/cluster`.', 'Make it, or name a profile.'),
  TLS_PROFILE_SOURCE_UNAVAILABLE: entry(
    '`APIServer/cluster` could not be read now.',
    'Nothing: it is tried again, and what was written stays.',
  ),
  TLS_PROFILE_UNKNOWN_TYPE: entry(
    'There is no profile of that name.',
    'Use Old, Intermediate, Modern or Custom.',
  ),
  TLS_PROFILE_UNKNOWN_VERSION: entry('There is no such TLS version.', 'Use VersionTLS10 to VersionTLS13.'),
  TLS_SILENT: entry(
    'The server took the connection and says nothing.',
    'Check the port, or raise `--timeout`.',
  ),
  TLS_UNCHECKED: entry('Nothing was learned about the server.', 'Try again.'),
  TLS_UNREACHABLE: entry(
    'The server cannot be reached.',
    'Check the address and port; pods are reached from inside the cluster.',
  ),
  TOKEN_MALFORMED: entry('The file holds no token.', 'Check whether it is the right one.'),
  URL_REFUSED: entry(
    'The URL is not that of the API server.',
    'Use the API server’s own, so that the token goes nowhere else.',
  ),
  YAML_INVALID: entry('The YAML cannot be parsed.', 'Correct the line that the message names.'),
};
