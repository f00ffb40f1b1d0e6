import { z } from 'zod';
import { argv, exactlyOne, fields, filePath, httpUrl, objectName, reference, text } from './fields.ts';

/** Protocols that start in clear text and go over to TLS on request. */
export const START_TLS = ['postgres', 'mysql', 'smtp', 'imap', 'ldap', 'ftp', 'xmpp'] as const;
export type StartTls = (typeof START_TLS)[number];

const PORT = '([1-9][0-9]{0,3}|[1-5][0-9]{4}|6[0-4][0-9]{3}|65[0-4][0-9]{2}|655[0-2][0-9]|6553[0-5])';
const ADDRESS = new RegExp(`^(\\[[0-9a-fA-F:.]+\\]|[A-Za-z0-9_]([-A-Za-z0-9_.]*[A-Za-z0-9_])?):${PORT}$`);

const statusSource = exactlyOne(
  fields({
    file: filePath()
      .optional()
      .describe(
        'File that holds the status document. Relative to the directory of the resources. Other users must not be able to write it. Directory home only.',
      ),
    socket: filePath()
      .optional()
      .describe(
        'Unix socket that serves the status document. Relative to the directory of the resources. Directory home only.',
      ),
    url: httpUrl()
      .optional()
      .describe(
        'URL that serves the status document. On Kubernetes its host is a Service or a pod of the same namespace; every pod behind a Service is asked. On a machine with other users prefer file or socket: any user can listen on a free port.',
      ),
  }),
).describe('Where the consumer reports what it has loaded.');

const metrics = fields({
  url: httpUrl().describe(
    'URL of the metrics page; without a path, /metrics is asked for. On Kubernetes its host is a Service or a pod of the same namespace, every pod behind a Service is asked, and the path ends in /metrics or /prometheus, without a query. On a machine with other users prefer status with file or socket: any user can listen on a free port.',
  ),
}).describe(
  'A page in the text format of Prometheus where the consumer shows what it has loaded, in tls_trust_anchor_info and tls_leaf_info.',
);

const SERVER_NAME =
  /^[A-Za-z0-9_]([-A-Za-z0-9_]*[A-Za-z0-9_])?(\.[A-Za-z0-9_]([-A-Za-z0-9_]*[A-Za-z0-9_])?)*$/;

const probeWays = exactlyOne(
  fields({
    address: text(ADDRESS, 260, 'an address', 'write host:port, such as 127.0.0.1:5432 or [::1]:443')
      .optional()
      .describe(
        'Where to connect, as host:port. On Kubernetes the host is a Service or a pod of the same namespace, or an address in --probe-networks.',
      ),
    command: argv()
      .optional()
      .describe(
        'For a server that speaks a protocol of its own: program and arguments that print the certificate which it shows, in PEM, or its SHA-256 fingerprint. Run without a shell in the directory of the resources, for 10 s at most. Directory home only.',
      ),
    mtls: z
      .boolean()
      .default(false)
      .describe('Whether the server requires client certificates and checks them.'),
    starttls: z
      .enum(START_TLS)
      .optional()
      .describe('Protocol in which TLS starts on request. Default: TLS starts at once.'),
    serverName: text(SERVER_NAME, 253, 'a host name', 'write it like www.example.org')
      .optional()
      .describe(
        'Server name to ask for (SNI), where one port serves several names. Default: the host of address, where that is a name.',
      ),
  }),
  ['address', 'command'],
);

const CONNECTS_ONLY = 'needs address beside it: a command connects by itself';
const CONNECTING = ['mtls', 'starttls', 'serverName'] as const;
const probe = probeWays
  .superRefine((value, context) => {
    if (value.command === undefined) return;
    for (const field of CONNECTING)
      if (value[field] !== undefined && value[field] !== false)
        context.addIssue({ code: 'custom', path: [field], message: CONNECTS_ONLY });
  })
  .meta({
    'x-kubernetes-validations': [
      ...((probeWays.meta()?.['x-kubernetes-validations'] ?? []) as readonly object[]),
      ...CONNECTING.map((field) => ({
        rule: `!has(self.command) || !has(self.${field})${field === 'mtls' ? ' || !self.mtls' : ''}`,
        message: CONNECTS_ONLY,
        fieldPath: `.${field}`,
      })),
    ],
  })
  .describe('A TLS handshake that shows which leaf the consumer serves, and with mtls which CAs it trusts.');

/** A program that is not found through pods. */
export const consumer = fields({
  name: objectName().describe('Name of the consumer in status and plans.'),
  presents: z.boolean().default(false).describe('Whether it presents a leaf of this Authority.'),
  verifies: z
    .boolean()
    .default(false)
    .describe('Whether it verifies peers with the bundle of this Authority.'),
  leaf: reference()
    .optional()
    .describe(
      'The Leaf that it presents: evidence that shows the certificate of another Leaf does not count. Default: any leaf of this Authority counts.',
    ),
  bundle: objectName()
    .optional()
    .describe("The TrustBundle that it verifies with. Default: the Authority's own bundle."),
  probe: probe.optional(),
  status: statusSource.optional(),
  metrics: metrics.optional(),
  reload: z
    .enum(['hot', 'restart'])
    .optional()
    .describe(
      'How it picks up changed files: hot, it reloads them by itself; restart, it reads them only when it starts.',
    ),
})
  .superRefine((value, context) => {
    const refuse = (path: string, message: string) =>
      context.addIssue({ code: 'custom', path: [path], message });
    if (!value.presents && !value.verifies) {
      context.addIssue({
        code: 'custom',
        message: 'neither presents nor verifies; set presents: true, verifies: true or both',
      });
      return;
    }
    if (value.leaf !== undefined && !value.presents) refuse('leaf', 'needs presents: true beside it');
    if (value.bundle !== undefined && !value.verifies) refuse('bundle', 'needs verifies: true beside it');
  })
  .meta({
    'x-kubernetes-validations': [
      {
        rule: '(has(self.presents) && self.presents) || (has(self.verifies) && self.verifies)',
        message: 'set presents: true, verifies: true or both',
      },
      {
        rule: '!has(self.leaf) || (has(self.presents) && self.presents)',
        message: 'needs presents: true beside it',
        fieldPath: '.leaf',
      },
      {
        rule: '!has(self.bundle) || (has(self.verifies) && self.verifies)',
        message: 'needs verifies: true beside it',
        fieldPath: '.bundle',
      },
    ],
  });
