import { type Duration, type Instant, instant, iso } from '@handover/material';
import { z } from 'zod';
import { CoreError } from '../error.ts';
import { KEYS, type KeyAlgorithm } from '../issue/algorithms.ts';
import { DURATION_HINT, DURATION_PATTERN, formatDuration, parseDuration } from './duration.ts';
import { oneOf, shown } from './message.ts';

export const KEY_ALGORITHMS = Object.keys(KEYS) as [KeyAlgorithm, ...KeyAlgorithm[]];

export const keyField = () =>
  z
    .enum(KEY_ALGORITHMS, {
      error: ({ input }) =>
        typeof input === 'string' && /^ed-?(25519|448)$/i.test(input)
          ? `${shown(input)} is not offered because too many TLS peers refuse it; use ECDSA-P256`
          : `${shown(input)} is not a key algorithm; ${oneOf(input, KEY_ALGORITHMS)}`,
    })
    .default('ECDSA-P256')
    .describe('Algorithm and size of the key.');

declare const brand: unique symbol;

/** A share between 0 and 1. */
export type Fraction = number & { readonly [brand]: 'Fraction' };

const PERCENT_PATTERN = /^[1-9][0-9]?%$/;
const PERCENT_HINT = 'write a whole percentage from 1% to 99%';

/** `80%` as 0.8, or undefined. Neither 0% nor 100%: one would always rotate, the other only after the end. */
export const parsePercent = (text: string): Fraction | undefined =>
  PERCENT_PATTERN.test(text) ? ((Number.parseInt(text, 10) / 100) as Fraction) : undefined;

/** A map of exactly these fields. The message only lists them: `problemsOf` words it for each stray field. */
export const fields = <Shape extends z.core.$ZodLooseShape>(shape: Shape) =>
  z.strictObject(shape, {
    error: (issue) => (issue.code === 'unrecognized_keys' ? Object.keys(shape).join(', ') : undefined),
  });

/** Keyword beside a pattern that says it in words, for the API server's message in a CRD. */
export const FORM = 'x-handover-form';

/**
 * Text of one form. The pattern also goes into the CRD. Each check aborts: otherwise rules across fields would run on text that was
 * never parsed.
 */
export const text = (pattern: RegExp, max: number, what: string, hint: string) =>
  z
    .string({
      error: (issue) =>
        issue.input === undefined ? `is missing; ${hint}` : `${shown(issue.input)} is not ${what}; ${hint}`,
    })
    .max(max, { abort: true })
    .regex(pattern, { abort: true })
    .meta({ [FORM]: `is not ${what}; ${hint}` });

const unreachable = (what: string): never => {
  throw new CoreError('RESOURCE_INVALID', `${what} passed its pattern but does not parse`);
};

/** `36h` as a Duration within bounds. */
export const durationField = (least: Duration, most: Duration) =>
  text(DURATION_PATTERN, 32, 'a duration', DURATION_HINT)
    .min(2, { abort: true })
    .refine(
      (value) => {
        const length = parseDuration(value);
        // Text of another form is refused above; a duration too long to count is out of bounds.
        if (length === undefined) return value === '' || !DURATION_PATTERN.test(value);
        return length >= least && length <= most;
      },
      {
        abort: true,
        error: (issue) =>
          `${shown(issue.input)} is out of bounds; use ${formatDuration(least)} to ${formatDuration(most)}`,
      },
    )
    .transform((value): Duration => parseDuration(value) ?? unreachable('a duration'));

/** `80%` as 0.8. */
export const percentField = () =>
  text(PERCENT_PATTERN, 3, 'a percentage', PERCENT_HINT).transform(
    (value): Fraction => parsePercent(value) ?? unreachable('a percentage'),
  );

const DATE_PATTERN = /^\d{4}-\d{2}-\d{2}$/;
const DATE_HINT = 'write it like 2030-12-31';

/** The last second of a day, in UTC; undefined: there is no such day. */
export const endOfDay = (date: string): Instant | undefined => {
  const end = DATE_PATTERN.test(date) ? Date.parse(`${date}T23:59:59Z`) : Number.NaN;
  // 2030-02-30 would be a day in March.
  return Number.isNaN(end) || iso(end).slice(0, 10) !== date ? undefined : instant(end);
};

/** A day, as its last second in UTC. */
export const dateField = () =>
  text(DATE_PATTERN, 10, 'a date', DATE_HINT)
    .refine((value) => !DATE_PATTERN.test(value) || endOfDay(value) !== undefined, {
      abort: true,
      error: ({ input }) => `${shown(input)} is no day of the calendar; ${DATE_HINT}`,
    })
    .transform((value): Instant => endOfDay(value) ?? unreachable('a day'));

const SUBDOMAIN = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;
const LABEL = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/;
const REFERENCE =
  /^([a-z0-9]([-a-z0-9]*[a-z0-9])?\/)?[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;
const NAME_HINT = 'use lower-case letters, digits, - and ., beginning and ending with a letter or digit';

/** RFC 1123 subdomain. In the directory home names become paths: no `..`, no `/`, no case. */
export const objectName = () => text(SUBDOMAIN, 253, 'a name', NAME_HINT);
export const namespaceName = () =>
  text(LABEL, 63, 'a namespace', 'use lower-case letters, digits and -, at most 63 of them');
/** `name`, or `namespace/name`. */
export const reference = () =>
  text(REFERENCE, 317, 'a reference', 'write name or namespace/name in lower-case letters, digits, - and .');
/** A key of a Secret or ConfigMap, which becomes a file name. */
export const dataKey = () =>
  text(/^\.?[-_a-zA-Z0-9][-._a-zA-Z0-9]*$/, 253, 'a key', 'use letters, digits, -, _ and ., such as ca.crt');
export const filePath = () =>
  // biome-ignore lint/suspicious/noControlCharactersInRegex: a NUL or a line break has no place in a path
  text(/^[^\x00-\x1f\x7f]+$/, 1024, 'a path', 'give a path without control characters');
/** Program and arguments, for a run without a shell. */
export const argv = () => z.array(z.string().min(1).max(4096)).min(1).max(64);

const URL_HINT = 'write it like http://127.0.0.1:9000/status, without user and password';

export const httpUrl = () =>
  text(
    /^https?:\/\/[A-Za-z0-9\-._~[\]:%]+(\/[A-Za-z0-9\-._~:/?#[\]@!$&'()*+,;=%]*)?$/,
    2048,
    'a URL',
    URL_HINT,
  ).refine((value) => URL.canParse(value), {
    error: ({ input }) => `${shown(input)} is not a URL; ${URL_HINT}`,
  });

/** Exactly one of its fields, or of `names`, given: a refinement here, a CEL rule for the API server, never a union. */
export const exactlyOne = <Schema extends z.ZodObject>(
  schema: Schema,
  names: readonly string[] = Object.keys(schema.shape),
): Schema => {
  return schema
    .superRefine((value, context) => {
      const given = names.filter((name) => (value as Record<string, unknown>)[name] !== undefined);
      if (given.length === 1) return;
      const got = given.length === 0 ? 'has none of' : `has ${given.join(' and ')} of`;
      context.addIssue({ code: 'custom', message: `${got} ${names.join(', ')}; give exactly one` });
    })
    .meta({
      'x-kubernetes-validations': [
        {
          rule: `${names.map((name) => `(has(self.${name}) ? 1 : 0)`).join(' + ')} == 1`,
          message: `give exactly one of ${names.join(', ')}`,
        },
      ],
    });
};

const LABEL_VALUE = /^([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?$/;
const labelValue = () =>
  text(LABEL_VALUE, 63, 'a label value', 'use letters, digits, -, _ and ., at most 63');
const labelKey = () =>
  text(
    /^([a-z0-9]([-a-z0-9.]*[a-z0-9])?\/)?[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$/,
    317,
    'a label key',
    'write it like app or example.com/app',
  );

const MOST_LABELS = 64;

/** Kubernetes' label selector: `{}` selects everything. */
export const labelSelector = () =>
  fields({
    matchLabels: z
      .record(z.string().max(317), labelValue())
      .refine((labels) => Object.keys(labels).length <= MOST_LABELS, {
        error: `has the wrong length; at most ${MOST_LABELS} entries allowed`,
      })
      .meta({ maxProperties: MOST_LABELS })
      .optional()
      .describe('Labels that must have exactly these values.'),
    matchExpressions: z
      .array(
        fields({
          key: labelKey().describe('Key of the label.'),
          operator: z
            .enum(['In', 'NotIn', 'Exists', 'DoesNotExist'])
            .describe('How the label is compared with values.'),
          values: z.array(labelValue()).max(64).default([]).describe('Values for In and NotIn.'),
        }),
      )
      .max(32)
      .optional()
      .describe('Conditions that must all hold.'),
  })
    // Otherwise two appliers could merge into a selector that neither of them wrote.
    .meta({ 'x-kubernetes-map-type': 'atomic' });
