import { z } from 'zod';
import { exactlyOne, fields, filePath, httpUrl, objectName, reference, text } from './fields.ts';

const PORT = '([1-9][0-9]{0,3}|[1-5][0-9]{4}|6[0-4][0-9]{3}|65[0-4][0-9]{2}|655[0-2][0-9]|6553[0-5])';
const ADDRESS = new RegExp(`^(\\[[0-9a-fA-F:.]+\\]|[A-Za-z0-9_]([-A-Za-z0-9_.]*[A-Za-z0-9_])?):${PORT}$`);

const statusSource = exactlyOne(
  fields({
    file: filePath().optional().describe('File that holds its status document; on one machine only.'),
    socket: filePath()
      .optional()
      .describe('Unix socket that serves its status document; on one machine only.'),
    url: httpUrl()
      .optional()
      .describe(
        'URL that serves its status document; in a cluster of a Service, or a pod, of the same namespace, each pod of which is asked.',
      ),
  }),
).describe('Where the consumer says which material it has loaded.');

const probe = fields({
  address: text(ADDRESS, 260, 'an address', 'write host:port, such as 127.0.0.1:5432 or [::1]:443').describe(
    'Where to connect, host:port; in a cluster a Service, or a pod, of the same namespace, or an address in --probe-networks.',
  ),
  mtls: z.boolean().default(false).describe('Whether the server asks for and checks client certificates.'),
}).describe('A real handshake that shows which leaf is served, and with mtls which CAs are trusted.');

/** A process that cannot be found by looking at pods. */
export const consumer = fields({
  name: objectName().describe('Name of the consumer in status and plans.'),
  presents: z.boolean().default(false).describe('It shows a leaf of this authority.'),
  verifies: z.boolean().default(false).describe('It checks peers against the bundle of this authority.'),
  leaf: reference()
    .optional()
    .describe('The Leaf it presents; without it, any leaf of this authority counts.'),
  bundle: objectName()
    .optional()
    .describe("The TrustBundle it verifies with; without it, the authority's own bundle."),
  probe: probe.optional(),
  status: statusSource.optional(),
  reload: z
    .enum(['hot', 'restart'])
    .optional()
    .describe(
      'How it picks up changes: hot is its owner saying that it reloads by itself; restart that it must be restarted.',
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
