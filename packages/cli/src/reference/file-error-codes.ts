import { type DocumentedCode, type ErrorEntry, entry } from './error-entry.ts';

/** Codes about files and the directory home. */
export const FILE_ERROR_CODES = {
  CERTIFICATE_EXPIRED: entry(
    'The certificate has expired.',
    'Write a new one; the last good one stays loaded.',
  ),
  CERTIFICATE_MALFORMED: entry('The data is not an X.509 certificate.', 'Copy the complete file again.'),
  CERTIFICATE_NOT_YET_VALID: entry('The certificate is not valid yet.', 'Check the clock of this machine.'),
  FILES_ACCOUNT_UNKNOWN: entry(
    'The user or group in `files` does not exist.',
    'Correct it, or give its number.',
  ),
  FILE_EMPTY: entry('A file is empty.', 'Write it; the last good content stays loaded.'),
  FILE_FORBIDDEN: entry('Permission to read a file is missing.', 'Correct its owner or mode.'),
  FILE_LINK_LOOP: entry('Links form a circle, or are too many.', 'Correct the link.'),
  FILE_MISSING: entry('A file does not exist.', 'Correct the path, or create or mount the file.'),
  FILE_NO_ANSWER: entry(
    'A file or socket of another program was not read in time: its file system, or one that was asked before it, does not answer.',
    'Mount the file system again, or name a file on a local one; Handover tries again.',
  ),
  FILE_NOT_REGULAR: entry('The path is a directory, pipe or device.', 'Name a regular file.'),
  FILE_TOO_LARGE: entry('A file is too large for its kind.', 'Check whether it is the right file.'),
  FILE_UNREADABLE: entry('A file cannot be read.', 'Check its name and permissions.'),
  KEYSTORE_MALFORMED: entry('A keystore is damaged.', 'Copy the complete file again.'),
  KEYSTORE_PASSWORD: entry(
    'The password does not open the keystore, or is needed and was not given.',
    'Name the file with the right password: `--password-file`.',
  ),
  KEYSTORE_UNSUPPORTED: entry(
    'A keystore is of a kind that Handover does not read, such as JCEKS or one with RC2.',
    'Write it anew as PKCS#12, with OpenSSL 3 or `keytool -importkeystore`.',
  ),
  OUTPUT_REFUSED: entry(
    'A file of `outputs` cannot be written: another program wrote what is there, its directory does not exist, or the path is one of Handover’s own.',
    'See the message; Handover tries again.',
  ),
  PASSWORD_EXPOSED: entry(
    'Every user of the machine can read the file of `passwordFrom`.',
    'Run the `chmod` that the message names, and change the password.',
  ),
  PASSWORD_MISSING: entry(
    'The file or Secret of `passwordFrom` does not exist, or is a Secret where a directory needs a file, or the reverse.',
    'Write the password there, or correct `passwordFrom`; the files stay as they are until then.',
  ),
  PASSWORD_UNUSABLE: entry(
    'The password of a keystore is empty, too short or too long, or has characters that Java refuses.',
    'Write one line of 6 to 128 printable ASCII characters.',
  ),
  HOME_DISK_FULL: entry('The disk or the quota is full.', 'Free some space; Handover tries again.'),
  HOME_EMPTY: entry('The directory has no resources.', 'Start with `handover init DIR`.'),
  HOME_FORBIDDEN: entry(
    'Permission to write a file of the directory is missing.',
    'Run as its owner, or as root.',
  ),
  HOME_FOREIGN_OWNER: entry(
    'The directory, a file or program it names, the target of a link, or a folder above belongs to another user.',
    'Run as that user; or review the content, then run the `chown` that the message names.',
  ),
  HOME_IO_FAILED: entry(
    'The system refused to read or write a file.',
    'See the message; Handover tries again.',
  ),
  HOME_LOCK_LOST: entry(
    'Another process took over the directory while this one was paused, or the lock was removed.',
    'This process stopped writing. Make sure that only one runs, then start it again.',
  ),
  HOME_LOCKED: entry(
    'Another process manages this directory.',
    'Let that process do the work, or stop it. If it ran in another container or on another machine and has ended, wait a minute, or remove `state/lock`.',
  ),
  HOME_MALFORMED: entry('Another file is in the place of one of Handover’s files.', 'Move it away.'),
  HOME_MISSING: entry(
    'The directory does not exist.',
    'Correct `--home`, or start with `handover init DIR`.',
  ),
  HOOK_UNANSWERED: entry(
    'The process that runs on the directory did not run a hook in time.',
    'See the output of that process; another hook may take all the time.',
  ),
  HOOK_UNKNOWN: entry(
    '`handover reload` names a resource without a hook.',
    'Choose one of those that the message lists, or set `spec.reload`.',
  ),
  HOME_NOT_EMPTY: entry('`init` found existing resources.', 'Edit them, or choose another directory.'),
  HOME_READ_ONLY: entry('The file system is read-only.', 'Mount it read-write.'),
  HOME_STATE_EXPOSED: entry(
    'Other users can read the keys in `state`.',
    '`chmod 0700` it, and replace the keys if others could have read them.',
  ),
  HOME_WRITABLE_BY_OTHERS: entry(
    'Other users can write the directory, a file or program it names, the target of a link, or a folder above.',
    'Run the `chmod` that the message names, and review the content.',
  ),
  KEY_AMBIGUOUS: entry('The file holds more than one private key.', 'Keep one.'),
  KEY_ENCRYPTED: entry('The private key has a passphrase.', 'Store it without one.'),
  KEY_LABEL_REFUSED: entry('The file holds something other than a private key.', 'Remove it.'),
  KEY_MALFORMED: entry('The private key cannot be parsed.', 'Write it again.'),
  KEY_MISMATCH: entry(
    'Key and certificate do not belong together.',
    'Write both together; the last good pair stays loaded.',
  ),
  KEY_MISSING: entry('The file holds no private key.', 'Give PEM text.'),
  KEY_NOT_PRIVATE: entry('The file holds a public key instead of a private one.', 'Give the private key.'),
  PEM_BAD_BOUNDARY: entry('BEGIN and END lines do not match.', 'Copy the complete file again.'),
  PEM_BINARY: entry('The data is binary, not PEM.', 'Convert it with `openssl x509 -inform der`.'),
  PEM_LABEL_REFUSED: entry('The file holds a PEM block that does not belong there.', 'Remove it.'),
  PEM_NO_CERTIFICATE: entry('The file holds no certificate.', 'Give a file with CERTIFICATE blocks.'),
  PEM_PRIVATE_KEY_IN_BUNDLE: entry(
    'A private key is among certificates.',
    'Remove it, and replace the key if others could read the file.',
  ),
  PEM_TOO_LARGE: entry('The text is too large for PEM.', 'Check whether it is the right file.'),
  PEM_TRUNCATED: entry('A PEM block has no END line.', 'Copy the complete file again.'),
  STATUS_REFUSED: entry(
    'Another user could have written the status document, or put its file or socket there.',
    'See the message: a `chmod`, or another folder. Until then the document is no evidence.',
  ),
  PID_FILE_REFUSED: entry(
    'A pid file names a process that the file’s owner could not signal, or is not a small regular file.',
    'Correct what the message names, or use `reload.command`.',
  ),
  TOKEN_MALFORMED: entry('The file holds no token.', 'Check whether it is the right file.'),
  YAML_INVALID: entry('The YAML cannot be parsed.', 'Correct the line that the message names.'),
} satisfies Partial<Record<DocumentedCode, ErrorEntry>>;
