import { z } from 'zod';
import { TRUST_MANAGER } from '../contract/foreign-marks.ts';
import { CoreError } from '../error.ts';
import { PKCS12_PROFILES } from '../formats/index.ts';
import { pathText } from './message.ts';

// trust-manager's Bundle. Its schema belongs to trust-manager, which may add to it: fields that are not known here are passed over.

const word = () => z.string().min(1).max(253);
const texts = () => z.record(z.string(), z.string()).optional();

const selector = z.object({
  matchLabels: texts(),
  matchExpressions: z
    .array(
      z.object({
        key: z.string(),
        operator: z.enum(['In', 'NotIn', 'Exists', 'DoesNotExist']),
        values: z.array(z.string()).default([]),
      }),
    )
    .optional(),
});

const sourceObject = z
  .object({
    name: word().optional(),
    selector: selector.optional(),
    key: word().optional(),
    includeAllKeys: z.boolean().default(false),
  })
  .refine(({ name, selector }) => (name === undefined) !== (selector === undefined), {
    error: 'needs name or selector, and not both',
  })
  .refine(({ key, includeAllKeys }) => (key === undefined) === includeAllKeys, {
    error: 'needs key or includeAllKeys: true, and not both',
  });

const source = z
  .object({
    configMap: sourceObject.optional(),
    secret: sourceObject.optional(),
    inLine: z.string().min(1).optional(),
    useDefaultCAs: z.boolean().optional(),
  })
  .refine((given) => Object.values(given).filter((value) => value !== undefined).length === 1, {
    error: 'needs exactly one of configMap, secret, inLine, useDefaultCAs',
  });

const isReserved = (key: string): boolean =>
  TRUST_MANAGER.prefixes.some((prefix) => key.startsWith(`${prefix}/`));

const template = z.object({
  key: word(),
  metadata: z
    .object({ annotations: texts(), labels: texts() })
    .refine(
      ({ annotations = {}, labels = {} }) =>
        ![...Object.keys(annotations), ...Object.keys(labels)].some(isReserved),
      { error: `may not use ${TRUST_MANAGER.prefixes.map((prefix) => `${prefix}/*`).join(' or ')}` },
    )
    .optional(),
});

const target = z.object({
  configMap: template.optional(),
  secret: template.optional(),
  namespaceSelector: selector.optional(),
  additionalFormats: z
    .object({
      jks: z.object({ key: word(), password: z.string().min(1).max(128).default('changeit') }).optional(),
      pkcs12: z
        .object({
          key: word(),
          password: z.string().max(128).default(''),
          // Of the default, nothing is written in the spec, and the hash of a target tells the two apart.
          profile: z.enum(PKCS12_PROFILES).optional(),
        })
        .optional(),
    })
    .optional(),
});

const bundleSpec = z
  .object({ sources: z.array(source).min(1).max(100), target: target.default({}) })
  .superRefine(({ sources, target }, context) => {
    const refuse = (path: (string | number)[], message: string): void =>
      context.addIssue({ code: 'custom', path, message });
    const defaults = sources.filter(({ useDefaultCAs }) => useDefaultCAs !== undefined);
    if (defaults.length > 1) refuse(['sources'], 'asks for useDefaultCAs more than once; leave one');
    if (sources.every(({ useDefaultCAs }) => useDefaultCAs === false))
      refuse(['sources'], 'has no source; add one');
    const { configMap, secret, additionalFormats = {} } = target;
    const taken = new Set([configMap?.key, secret?.key]);
    for (const [format, given] of Object.entries(additionalFormats)) {
      if (given === undefined) continue;
      if (taken.has(given.key))
        refuse(
          ['target', 'additionalFormats', format, 'key'],
          `"${given.key}" is the key of another output; choose another`,
        );
      taken.add(given.key);
    }
  });

type Frozen<T> = T extends readonly (infer Item)[]
  ? readonly Frozen<Item>[]
  : T extends object
    ? { readonly [Key in keyof T]: Frozen<T[Key]> }
    : T;

export type ForeignBundleSpec = Frozen<z.output<typeof bundleSpec>>;
export type ForeignBundleSource = ForeignBundleSpec['sources'][number];
export type ForeignBundleTemplate = NonNullable<ForeignBundleSpec['target']['configMap']>;

const isOwnTarget = (
  given: { readonly name?: string | undefined; readonly key?: string | undefined } | undefined,
  name: string,
  target: { readonly key: string } | undefined,
): boolean => given !== undefined && target !== undefined && given.name === name && given.key === target.key;

/** The spec of the Bundle `name`, or RESOURCE_INVALID with the first thing that is wrong in it. */
export function parseForeignBundle(name: string, spec: unknown): ForeignBundleSpec {
  const refuse = (path: readonly PropertyKey[], message: string): never => {
    throw new CoreError('RESOURCE_INVALID', `Bundle ${name}: ${pathText(['spec', ...path])} ${message}`);
  };
  const parsed = bundleSpec.safeParse(spec);
  const [issue] = parsed.error?.issues ?? [];
  if (!parsed.success) return refuse(issue?.path ?? [], issue?.message ?? 'cannot be read');
  const { sources, target } = parsed.data;
  const own = sources.findIndex(
    ({ configMap, secret }) =>
      isOwnTarget(configMap, name, target.configMap) || isOwnTarget(secret, name, target.secret),
  );
  if (own >= 0) refuse(['sources', own], 'is a target of this Bundle; take the source from another object');
  return parsed.data;
}
