import { type DocumentedCode, type ErrorEntry, entry } from './error-entry.ts';
import { FILE_ERROR_CODES } from './file-error-codes.ts';
import { KUBE_ERROR_CODES } from './kube-error-codes.ts';

/** Every code of HandoverError, for docs/reference/errors.md. A missing or superfluous entry does not compile. */
export const ERROR_CODES: Readonly<Record<DocumentedCode, ErrorEntry>> = {
  ...FILE_ERROR_CODES,
  ...KUBE_ERROR_CODES,
  USAGE: entry('The command line is wrong; exit code 2.', 'See `handover COMMAND --help`.'),
  INTERNAL: entry('A bug in Handover.', 'Report it with the command you ran.'),
  UNFINISHED: entry(
    'A bug in Handover: the process ended although its command had not; exit code 70.',
    'Look at the state with `handover status`, and report it with the command you ran.',
  ),
  ACK_AMBIGUOUS: entry('Several Authorities declare a consumer of that name.', 'Name one by `--authority`.'),
  ACK_HOOK: entry(
    "The hook of the consumer fails, or restarts it: what the hook does counts, not a person's word.",
    'Fix the hook, and run it with `handover reload`.',
  ),
  ACK_NOT_ASKED: entry(
    'The consumer has a probe or a status document, so that it is asked itself.',
    'See `handover status` for its answer.',
  ),
  ACK_UNKNOWN: entry('No Authority declares a consumer of that name.', 'Correct the name, or declare it.'),
  ADDRESS_REFUSED: entry(
    'An Authority names an address that the operator does not connect to.',
    'Name a Service of the Authority’s own namespace; see `spec.consumers`.',
  ),
  ADDRESS_UNUSABLE: entry(
    'The operator cannot listen on the address for health or metrics.',
    'Choose another `--health-address` or `--metrics-address`.',
  ),
  ADOPT_AMBIGUOUS: entry(
    'The file for `handover adopt` holds more than one certificate.',
    'Give a file with the root CA alone.',
  ),
  ADOPT_EXPIRED: entry('The CA to adopt has expired.', 'Begin with a new CA: no peer accepts the old one.'),
  ADOPT_KEY_MISMATCH: entry('The key is not that of the CA to adopt.', 'Give the key of that CA.'),
  ADOPT_NOT_CA: entry('The certificate to adopt is not a CA.', 'Give the certificate of the CA.'),
  ADOPT_NOT_FIRST: entry(
    'The Authority has a CA already.',
    'Adopt into a new Authority, before its first `handover run`.',
  ),
  ADOPT_NOT_ROOT: entry('The CA to adopt is signed by another CA.', 'Give the root CA.'),
  ADOPT_PATH_LENGTH: entry(
    'The CA to adopt has path length 0, as those of mkcert have: peers would refuse the cross-certificate of its successor.',
    'Adopt it without its key: leave out `--key`.',
  ),
  ADOPT_REFUSED: entry(
    'A CA that spec.adopt names cannot be adopted with its key.',
    'Put the CA’s key beside it, or adopt a root by its fingerprint.',
  ),
  ADOPT_UNDECIDED: entry(
    'CAs are in use whose state is missing; replacing them at once would fail handshakes.',
    'Restore the state, name the CAs in `spec.adopt`, or delete the objects, as the message says.',
  ),
  AUTHORITY_UNKNOWN: entry(
    'This home has no Authority of that name.',
    'Correct the name, or `--home`; the message lists the known ones.',
  ),
  BUNDLE_EMPTY: entry(
    'A bundle would hold no certificate.',
    'Nothing was written. Add a certificate to its sources.',
  ),
  BUNDLE_NO_CA: entry(
    'A CA file holds leaf certificates only, such as `tls.crt` in the place of `ca.crt`.',
    'Write the certificate of their CA; until then the last good CA bundle stays in use.',
  ),
  CERTGEN_KEPT_ELSEWHERE: entry(
    'An operator, or a Job of another namespace, manages these objects.',
    'Use `handover rotate`, or give `--operator-namespace`.',
  ),
  CERTGEN_NOT_VALID: entry(
    'A Secret holds a certificate that has expired or is not valid yet, or no readable CA, and this run could not replace it.',
    'Run with `--overwrite` if another program made it; run again if a rotation is under way.',
  ),
  CERTGEN_NO_KEY: entry(
    'A Secret is missing, and the key of the CA in the others is lost.',
    'Run with `--overwrite` to adopt that CA.',
  ),
  CERTGEN_STATE_MISSING: entry(
    'The Secrets hold a CA whose state is missing, and the CA’s key with it: no run can renew a certificate.',
    'Restore the state from its latest backup, or run with `--overwrite`, as the message says.',
  ),
  CERTGEN_STATE_OUTDATED: entry(
    'The state is older than the Secrets made from it, as if restored from a backup: no run can change anything.',
    'Restore the latest state; if there is none, delete the one that the message names and run with `--overwrite`.',
  ),
  CLOCK_BEHIND: entry(
    'The clock is behind the dates in the state.',
    'Set the clock; or, if it is right, run `handover clock --confirm`. Handover changes nothing until then.',
  ),
  CONFLICT: entry(
    'Another program changed the same object in the meantime.',
    'Nothing: Handover reads the object and decides again.',
  ),
  CONSUMER_LEAF_UNKNOWN: entry(
    'A consumer names in `leaf` a Leaf that its Authority does not have. Each rotation waits for it.',
    'Correct `spec.consumers[].leaf` of the Authority, or declare that Leaf.',
  ),
  EMBED_STOPPED: entry('`embed` was stopped before its server was ready.', 'Nothing, if that was intended.'),
  GENERATION_UNKNOWN: entry(
    'The authority has no such CA generation.',
    'Choose one of those that the message lists.',
  ),
  IDENTITY_REFUSED: entry('OpenSSL refuses the certificate or key.', 'Use a stronger key.'),
  INSTALL_OPTION: entry('An option of `handover install` is wrong.', 'See `handover install --help`.'),
  ISSUANCE_LOG_UNWRITABLE: entry(
    'The issuance log cannot be written, so nothing is issued.',
    'Correct what the message names; Handover tries again.',
  ),
  ISSUE_DATES: entry(
    'A certificate would expire before it becomes valid.',
    'Check the lifetimes and the clock.',
  ),
  ISSUE_GENERATION: entry('A generation is not a positive whole number.', 'Report it.'),
  ISSUE_KEY_MISMATCH: entry('The signing key does not belong to the CA.', 'Restore the state; report it.'),
  ISSUE_KEY_UNSUPPORTED: entry(
    'Handover issues no certificate for such a key.',
    'Use ECDSA P-256 or P-384, or RSA of 2048 bits or more.',
  ),
  ISSUE_NAME: entry('A DNS name, IP address or URI is malformed.', 'Correct it in the Leaf.'),
  ISSUE_NOT_A_CA: entry('The issuer is not a CA.', 'Use a CA.'),
  ISSUE_NO_NAME: entry(
    'A leaf has no name.',
    'Give `subject.commonName`, `dnsNames`, `ipAddresses` or `uris`.',
  ),
  ISSUE_SERIAL: entry('A serial number has too little randomness.', 'Report it.'),
  ISSUE_SUBJECT: entry('A name in the subject is too long or malformed.', 'Shorten it to 64 characters.'),
  LEAF_NOT_NOW: entry(
    'An approved CertificateRequest names an Authority that cannot sign at the moment.',
    'See the status of the Authority; the request is signed as soon as it can.',
  ),
  LEAF_MOVED: entry(
    'A Leaf names another Authority than the one that made its Secret. To replace certificate and CA in one write would fail every connection to programs that have not reloaded, so the Secret stays as it is, and is not renewed.',
    'Take the old `spec.authority` again, or move in order: [move a Leaf](../recipes/move-a-leaf.md).',
  ),
  LEAF_REFUSED: entry(
    'A CertificateRequest asks for something that `spec.issueTo` of the Authority does not allow.',
    'Change the Certificate, or have the Authority’s owner allow it.',
  ),
  SIGNING_REQUEST_REFUSED: entry(
    'A signing request is malformed, not signed with its own key, or asks for what no leaf has.',
    'The message says what to change in the Certificate or the request.',
  ),
  ISSUE_USAGES: entry('A leaf is for neither server nor client.', 'Give `usages`.'),
  LOAD_FAILED: entry('A file could not be loaded.', 'See the message; the last good content stays loaded.'),
  NAMESPACE_OVER_SHARE: entry(
    'The objects of a namespace take more than its share of the operator’s memory; the operator does not keep some of them.',
    'Remove objects in that namespace that are not needed, or set a ResourceQuota; with more memory (the container’s limit and --max-old-space-size) each share is larger.',
  ),
  NOT_LOADED: entry('Nothing has been loaded yet.', 'Wait until it is ready.'),
  NOT_SERVED: entry(
    'The server does not show the certificate of the file, or that certificate has expired.',
    'Make the server load the file, give it time with `--wait`, or name the site with `--servername`.',
  ),
  OBJECT_OBSTACLE: entry(
    'An object cannot be written.',
    'Remove the obstacle that the message names; Handover tries again.',
  ),
  OBSTRUCTED: entry(
    'Objects of an authority cannot be written.',
    'Remove the obstacle that the message names; Handover tries again.',
  ),
  OPTION_INVALID: entry('An option of a function is wrong.', 'Correct the call.'),
  PEER_MISSING: entry('An optional package is not installed.', 'Install what the message names.'),
  PEER_UNUSABLE: entry(
    'An optional package does not load on this version of Node.',
    'Install the version that the message names.',
  ),
  PEM_BAD_BASE64: entry('The content of a PEM block is not base64.', 'Copy the complete file again.'),
  PORT_TAKEN: entry('The port of the dashboard is in use.', 'Choose another port.'),
  RELOAD_FAILED: entry(
    'A hook failed, so that a program has not loaded its new files.',
    'See the message; the files are written, and `handover run` tries again. `handover reload` runs the hook at once.',
  ),
  RESOURCE_CONFLICT: entry('Two resources would write the same object.', 'Give one of them another name.'),
  RESOURCE_DUPLICATE: entry('A resource is declared twice.', 'Remove one of them.'),
  RESOURCE_INVALID: entry(
    'A resource has a wrong field.',
    'Correct what the message names; see [resources](resources.md).',
  ),
  ROLLOUT_UNSUPPORTED: entry(
    'A program has to be restarted, and this home cannot restart it.',
    'Restart it by hand.',
  ),
  ROTATION_ID_INVALID: entry(
    'The id of a rotation is invalid.',
    'Use up to 128 letters, digits and `-._:@+`.',
  ),
  ROTATION_UNFINISHED: entry(
    'The rotation did not finish within `--timeout`.',
    'It continues in the background, or run the command again with the same id. The message says what it waits for.',
  ),
  RUN_INCOMPLETE: entry(
    'Everything that can be done is done, and something that is declared is not in place: a Leaf names an Authority that is not declared or that refuses it, a certificate has expired and cannot be renewed, or a file is damaged.',
    'The message names it; `handover status` lists the rest.',
  ),
  ROTATION_WAITS: entry(
    'The previous rotation has not ended.',
    'Run again later. The message says what the previous one waits for.',
  ),
  RUNTIME_UNSUPPORTED: entry('A function does not work on Bun or Deno.', 'Use what the message names.'),
  SCHEMA_NOT_STRUCTURAL: entry(
    'A schema cannot become a CRD.',
    'Change it in `packages/core/src/resources`.',
  ),
  SEEN_UNREADABLE: entry(
    'What the operator recorded about consumers cannot be parsed.',
    'Delete the ConfigMap; the operator writes it again.',
  ),
  SIGNING_REQUEST_KEY_TYPE: entry(
    'A signing request is for a kind of key that no TLS peer takes.',
    'Set `keyType` of the podCertificate volume to `ECDSAP256`, `ECDSAP384`, `RSA3072` or `RSA4096`.',
  ),
  SIGNING_REQUEST_MALFORMED: entry(
    'A signing request of a pod cannot be read.',
    'Delete the pod: the kubelet creates a new request.',
  ),
  SIGNING_REQUEST_UNPROVEN: entry(
    'A signing request is not signed by the key that it is for.',
    'Delete the pod: the kubelet creates a new request.',
  ),
  SOURCE_MISSING: entry(
    'A source of a bundle does not exist.',
    'Create it; the bundle stays as it is until then.',
  ),
  STATE_FOREIGN: entry('The state is that of another authority or version.', 'Restore the right one.'),
  STATE_INCOMPLETE: entry('The state lacks a certificate or key.', 'Restore it, or request a rotation.'),
  STATE_UNREADABLE: entry(
    'The state of an authority is damaged.',
    'Restore it from a backup. Without it Handover changes nothing until `spec.adopt` names the CAs to keep trusting, or their objects are deleted.',
  ),
  STATUS_LISTEN_FAILED: entry(
    'The status document cannot be served there.',
    'Choose another port or socket. Under `register`: set `HANDOVER_STATUS` to another place, or unset it for a program without TLS.',
  ),
  STATUS_WRITE_FAILED: entry('The status document cannot be written.', 'Correct its path.'),
  STATUS_DOCUMENT: entry(
    'A status document is no evidence.',
    'Correct the field that the message names: docs/reference/status-document.md.',
  ),
  TLS_CLOSED: entry('The server closes every connection without TLS.', 'Check the address and port.'),
  TLS_NOT_TLS: entry('The server answers, but not with TLS.', 'Check the port, or add `--starttls`.'),
  TLS_PROFILE_CIPHERS_UNSUPPORTED: entry(
    'A warning: some ciphers are not supported here.',
    'Nothing, or remove them.',
  ),
  TLS_PROFILE_CUSTOM_EMPTY: entry('Type Custom has no `custom`.', 'Give `ciphers` and `minTLSVersion`.'),
  TLS_PROFILE_GROUPS_UNSUPPORTED: entry(
    'A warning: some groups are not supported here.',
    'Nothing, or remove them.',
  ),
  TLS_PROFILE_INVALID: entry('The document is not a TLS profile.', 'Correct what the message names.'),
  TLS_PROFILE_MINIMUM_RAISED: entry(
    'A warning: the profile lists only TLS 1.3 suites, so its minimum is TLS 1.3.',
    'Nothing, or add other suites.',
  ),
  TLS_PROFILE_NOT_HERE: entry('Type OpenShift needs the Kubernetes home.', 'Use another type.'),
  TLS_PROFILE_NO_CIPHER: entry('No cipher of the list is supported here.', 'Add one that is.'),
  TLS_PROFILE_NO_GROUP: entry('No group of the list is supported here.', 'Add one that is.'),
  TLS_PROFILE_SOURCE_FORBIDDEN: entry(
    'The operator has no right to read `APIServer/cluster`.',
    'Install with `--openshift`.',
  ),
  TLS_PROFILE_SOURCE_MISSING: entry('`APIServer/cluster` does not exist.', 'Create it, or use another type.'),
  TLS_PROFILE_SOURCE_UNAVAILABLE: entry(
    '`APIServer/cluster` could not be read now.',
    'Nothing: Handover tries again, and keeps the profile it has written.',
  ),
  TLS_PROFILE_UNKNOWN_TYPE: entry(
    'The type of profile is unknown.',
    'Use Old, Intermediate, Modern or Custom.',
  ),
  TLS_PROFILE_UNKNOWN_VERSION: entry('The TLS version is unknown.', 'Use VersionTLS10 to VersionTLS13.'),
  TLS_SILENT: entry(
    'The server accepts the connection and sends nothing.',
    'Check the port, or raise `--timeout`.',
  ),
  TLS_UNCHECKED: entry('The check learned nothing about the server.', 'Try again.'),
  TLS_UNREACHABLE: entry(
    'The server cannot be reached.',
    'Check the address and port; to check pods, run the command in the cluster.',
  ),
};
