import { isMap } from '@handover/material';
import type { z } from 'zod';
import { CoreError } from '../error.ts';
import { authoritySchema } from './authority.ts';
import { leafSchema, requestedLeafSchema } from './leaf.ts';
import { didYouMean, messageFor, oneOf, pathText, shown } from './message.ts';
import { API_VERSION } from './metadata.ts';
import { tlsProfileSchema } from './tls-profile.ts';
import { trustBundleSchema } from './trust-bundle.ts';

export const KINDS = ['Authority', 'Leaf', 'TrustBundle', 'TLSProfile'] as const;
export type Kind = (typeof KINDS)[number];

const schemas = {
  Authority: authoritySchema,
  Leaf: leafSchema,
  TrustBundle: trustBundleSchema,
  TLSProfile: tlsProfileSchema,
} as const satisfies Record<Kind, z.ZodType>;

/** Schemas of the resources before defaults: for CRDs and docs. */
export const resourceSchemas: Record<Kind, z.ZodType> = schemas;

type Frozen<T> = T extends string | number | boolean | undefined
  ? T
  : { readonly [K in keyof T]: Frozen<T[K]> };

export type Authority = Frozen<z.output<typeof authoritySchema>>;
export type Leaf = Frozen<z.output<typeof leafSchema>>;
export type TrustBundle = Frozen<z.output<typeof trustBundleSchema>>;
export type TlsProfile = Frozen<z.output<typeof tlsProfileSchema>>;
/** A resource with every default filled in and every duration parsed. */
export type Resource = Authority | Leaf | TrustBundle | TlsProfile;

const SHOWN_PROBLEMS = 3;

/** Where a field is, for messages: "other.yaml:7:3"; undefined: not known. */
export type Locate = (path: readonly PropertyKey[]) => string | undefined;

interface Problem {
  readonly text: string;
  readonly path: readonly PropertyKey[];
}

const problemsOf = (issue: z.core.$ZodIssue): readonly Problem[] => {
  if (issue.code !== 'unrecognized_keys') {
    const path = pathText(issue.path);
    return [{ text: path === '' ? issue.message : `${path}: ${issue.message}`, path: issue.path }];
  }
  const allowed = issue.message.split(', ');
  return issue.keys.map((key) => {
    const meant = didYouMean(key, allowed);
    const advice = meant === undefined ? `allowed: ${allowed.join(', ')}` : `did you mean ${meant}?`;
    const path = [...issue.path, key];
    return { text: `${pathText(path)}: unknown field; ${advice}`, path };
  });
};

const refuse = (where: string, subject: string, problems: readonly string[]): never => {
  const more = problems.length - SHOWN_PROBLEMS;
  const text = problems.slice(0, SHOWN_PROBLEMS).join('; also ') + (more > 0 ? `; and ${more} more` : '');
  throw new CoreError('RESOURCE_INVALID', `${where}: ${subject}${text}`, { path: where });
};

/** A resource from a plain value, such as YAML gives. `where` names the file or object in messages, `locate` a field of it. */
export function parseResource(
  value: unknown,
  where = 'resource',
  locate: Locate = () => undefined,
): Resource {
  if (!isMap(value)) {
    return refuse(where, '', [`${shown(value)} is not a resource; give apiVersion, kind, metadata and spec`]);
  }
  const { apiVersion, kind, metadata } = value;
  if (apiVersion !== API_VERSION) {
    const got = apiVersion === undefined ? 'is missing' : `${shown(apiVersion)} is not supported`;
    return refuse(where, '', [`apiVersion: ${got}; use ${API_VERSION}`]);
  }
  const known = KINDS.find((name) => name === kind);
  if (known === undefined) {
    const got = kind === undefined ? 'is missing' : `${shown(kind)} is not a kind of Handover`;
    return refuse(where, '', [`kind: ${got}; ${oneOf(kind, KINDS)}`]);
  }
  const result = schemas[known].safeParse(value, { error: messageFor });
  if (result.success) return result.data;
  const name = isMap(metadata) && typeof metadata.name === 'string' ? metadata.name : undefined;
  const safe = name !== undefined && /^[-.\w]{1,253}$/.test(name) ? ` ${name}` : '';
  const problems = result.error.issues.flatMap(problemsOf);
  const [first] = problems;
  return refuse(
    (first && locate(first.path)) ?? where,
    `${known}${safe}: `,
    problems.map(({ text, path }, index) => {
      const at = index === 0 ? undefined : locate(path);
      return at === undefined ? text : `${at}: ${text}`;
    }),
  );
}

/** What a certificate request asks for, as a Leaf would. `where` names the request in messages. */
export function parseRequestedLeaf(
  spec: Readonly<Record<string, unknown>>,
  metadata: { readonly name: string; readonly namespace: string },
  where: string,
): Leaf {
  const value = { apiVersion: API_VERSION, kind: 'Leaf', metadata, spec };
  const result = requestedLeafSchema.safeParse(value, { error: messageFor });
  if (result.success) return result.data;
  return refuse(
    where,
    '',
    result.error.issues.flatMap(problemsOf).map(({ text }) => text),
  );
}

/** "Leaf default/web". */
export const identityOf = ({ kind, metadata }: Resource): string =>
  `${kind} ${'namespace' in metadata ? `${metadata.namespace}/` : ''}${metadata.name}`;

/** Many resources. A duplicate is refused; a reference to a missing one is not, since that may be elsewhere or come later. */
export function parseResources(
  values: readonly { readonly value: unknown; readonly where: string; readonly locate?: Locate }[],
): readonly Resource[] {
  const places = new Map<string, string>();
  return values.map(({ value, where, locate }) => {
    const resource = parseResource(value, where, locate);
    const id = identityOf(resource);
    const before = places.get(id);
    if (before !== undefined) {
      throw new CoreError(
        'RESOURCE_DUPLICATE',
        `${where}: ${id} is already declared in ${before}; rename one of them or remove it`,
        { path: where },
      );
    }
    places.set(id, where);
    return resource;
  });
}
