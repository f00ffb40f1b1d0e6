import { z } from 'zod';
import { CONTENTS, holdsKey, isStore, OUTPUT_FORMATS, type OutputContent } from '../formats/output.ts';
import { dataKey, exactlyOne, fields, filePath, objectName, text } from './fields.ts';

/** A user or a group of the machine. */
export const account = (what: string) =>
  text(/^([A-Za-z_][-A-Za-z0-9_.]{0,31}|[0-9]{1,10})$/, 32, what, 'give a name, or a number in quotes');

/** Permissions of a file, in octal digits. */
export const mode = (form: RegExp, hint: string) => text(form, 4, 'a mode', hint);

const passwordFrom = exactlyOne(
  fields({
    file: filePath()
      .optional()
      .describe(
        'File with the password in one line. Relative to the directory of the resources. Directory home only.',
      ),
    secret: fields({
      name: objectName().describe('Name of the Secret.'),
      key: dataKey().prefault('password').describe('Key that holds the password.'),
    })
      .optional()
      .describe('Secret in the namespace of the object that is written. Kubernetes only.'),
  }),
);

const file = fields({
  path: filePath().describe(
    'Path of the file. Relative to the directory of the resources. Its directory must exist, and only root and the user that runs Handover may write it.',
  ),
  owner: account('a user').optional().describe('User that owns the file.'),
  group: account('a group').optional().describe('Group that owns the file.'),
  mode: mode(/^0?[0-7]{3}$/, 'write it in quotes, like "0600" or "0644"')
    .optional()
    .describe(
      'Mode of the file. With a private key: nothing for others, and for a group only with group. Default: 0600, or 0644 if it holds no private key.',
    ),
})
  .optional()
  .describe('Also write the file to this path, by one rename. Directory home only.');

const common = {
  name: dataKey().describe('Name of the file: a key of the Secret or ConfigMap, or a file in the folder.'),
  file,
};

const MOST = 16;

/** Two files of one object cannot have one name. */
const distinct = <Item extends { readonly name: string }>(items: z.ZodArray<z.ZodType<Item>>) =>
  items
    .max(MOST)
    .prefault([])
    .superRefine((outputs, context) => {
      const seen = new Set<string>();
      outputs.forEach(({ name }, index) => {
        if (seen.has(name))
          context.addIssue({
            code: 'custom',
            path: [index, 'name'],
            message: `"${name}" is there twice; choose another name`,
          });
        seen.add(name);
      });
    })
    .meta({ 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['name'] });

const OWN_NAMES = ['tls.crt', 'tls.key', 'ca.crt', '.handover.json'] as const;
const isOwn = (name: string): boolean => OWN_NAMES.some((own) => own === name);
const TAKEN = 'is the name of a file that Handover writes in any case; choose another';
const NOT_OWN = {
  rule: `!(self.name in [${OWN_NAMES.map((name) => `'${name}'`).join(', ')}])`,
  message: TAKEN,
  fieldPath: '.name',
};

const IS_STORE = "(self.format in ['pkcs12', 'jks'])";
const NO_PASSWORD = {
  rule: `${IS_STORE} || !has(self.passwordFrom)`,
  message: 'only applies to pkcs12 and jks; leave it out',
  fieldPath: '.passwordFrom',
};

/** Why a mode does not suit a file with a private key. */
const exposure = (place: z.infer<typeof file>): string | undefined => {
  const { mode: asked, group } = place ?? {};
  if (asked === undefined) return undefined;
  if (!asked.endsWith('0'))
    return `"${asked}" gives other users access to a private key; use "0600", or "0640" with a group`;
  return asked.at(-2) === '0' || group !== undefined
    ? undefined
    : `"${asked}" gives a group access to a private key; name it in file.group, or use "0600"`;
};

const HAS_KEY =
  "(has(self.content) ? self.content in ['identity', 'key'] : !(self.format in ['pem', 'der']))";
const NOT_EXPOSED = [
  {
    rule: `!has(self.file) || !has(self.file.mode) || !${HAS_KEY} || self.file.mode.endsWith('0')`,
    message: 'gives other users access to a private key; use "0600", or "0640" with a group',
    fieldPath: '.file.mode',
  },
  {
    rule: `!has(self.file) || !has(self.file.mode) || has(self.file.group) || !${HAS_KEY} || self.file.mode.matches('.0.$')`,
    message: 'gives a group access to a private key; name it in file.group, or use "0600"',
    fieldPath: '.file.mode',
  },
];

const leafOutput = fields({
  ...common,
  alias: objectName()
    .optional()
    .describe(
      'Name of the entry in a keystore. Of trusted CAs the part before the fingerprint, which is ca by default. Default: <name>.',
    ),
  format: z
    .enum(OUTPUT_FORMATS)
    .describe(
      'Format of the file. combined is certificate, chain and key in one PEM file, as HAProxy reads it.',
    ),
  content: z
    .enum(['identity', 'trust', 'certificate', 'key'])
    .optional()
    .describe(
      'What the file holds: identity is key and chain (combined, pkcs12, jks), trust is the CAs of ca.crt (pem, pkcs12, jks), certificate and key are one of them (pem, der). Default: identity, or certificate for pem and der.',
    ),
  keyFormat: z
    .enum(['pkcs8', 'pkcs1'])
    .default('pkcs8')
    .describe(
      'Encoding of the key in pem, combined and der. pkcs1 is PKCS#1 for RSA keys and SEC 1 for ECDSA keys.',
    ),
  passwordFrom: passwordFrom
    .optional()
    .describe('Password of a keystore; required if it holds a key. Default: changeit.'),
})
  .superRefine(({ name, format, content, passwordFrom, file }, context) => {
    const allowed: readonly OutputContent[] = CONTENTS[format];
    const refuse = (field: string, message: string) =>
      context.addIssue({ code: 'custom', path: field.split('.'), message });
    const problem = holdsKey(content ?? allowed[0] ?? 'identity') ? exposure(file) : undefined;
    if (problem !== undefined) refuse('file.mode', problem);
    if (isOwn(name)) refuse('name', `"${name}" ${TAKEN}`);
    if (content !== undefined && !allowed.includes(content))
      refuse('content', `"${content}" does not go with format ${format}; use ${allowed.join(' or ')}`);
    if (passwordFrom !== undefined && !isStore(format))
      refuse('passwordFrom', `does not apply to format ${format}; leave it out`);
    if (isStore(format) && content !== 'trust' && passwordFrom === undefined)
      refuse('passwordFrom', `is missing; a ${format} file with a private key needs a password`);
  })
  .meta({
    'x-kubernetes-validations': [
      {
        rule: `!has(self.content) || ${OUTPUT_FORMATS.map((format) => `(self.format == '${format}' && self.content in [${CONTENTS[format].map((one) => `'${one}'`).join(', ')}])`).join(' || ')}`,
        message: 'content does not go with format; see the description of content',
        fieldPath: '.content',
      },
      NOT_OWN,
      NO_PASSWORD,
      ...NOT_EXPOSED,
      {
        rule: `!${IS_STORE} || has(self.passwordFrom) || (has(self.content) && self.content == 'trust')`,
        message: 'passwordFrom is missing; a keystore with a private key needs a password',
      },
    ],
  })
  .transform((output) => ({ ...output, content: output.content ?? CONTENTS[output.format][0] }));

/** More files made from a Leaf's certificate, key and CAs. */
export const leafOutputs = () =>
  distinct(z.array(leafOutput)).describe(
    'More files with the same certificate, key and CAs, in other formats.',
  );

const bundleOutput = fields({
  ...common,
  alias: objectName()
    .prefault('ca')
    .describe('Names of the entries in a truststore, in front of the fingerprint of each CA.'),
  format: z.enum(['pem', 'pkcs12', 'jks']).describe('Format of the file.'),
  passwordFrom: passwordFrom.optional().describe('Password of the truststore. Default: changeit.'),
})
  .superRefine(({ format, passwordFrom }, context) => {
    if (passwordFrom === undefined || isStore(format)) return;
    context.addIssue({
      code: 'custom',
      path: ['passwordFrom'],
      message: `does not apply to format ${format}; leave it out`,
    });
  })
  .meta({ 'x-kubernetes-validations': [NO_PASSWORD] })
  .transform((output) => ({ ...output, content: 'trust' as const, keyFormat: 'pkcs8' as const }));

/** More files made from a bundle's certificates. */
export const bundleOutputs = () =>
  distinct(z.array(bundleOutput)).describe('More keys with the same certificates, in other formats.');
