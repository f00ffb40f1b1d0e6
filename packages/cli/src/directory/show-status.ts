import { evidenceText, restsText, standsOn, waitGroups } from '@handover/core';
import {
  type AuthorityStatus,
  type ConsumerStatus,
  type HookStatus,
  hookLine,
  type Status,
  unusableLine,
} from '@handover/engine';
import type { Instant } from '@handover/material';
import { amount, printableIn } from '../printable.ts';
import { timeLeft } from './waiting.ts';

type Step = NonNullable<AuthorityStatus['history']>[number];

const MOST_STEPS = 5;

const STANDS_WORDS = {
  shown: 'shown',
  assumed: 'assumed',
  notNeeded: 'not needed',
  none: 'without evidence',
} as const;

const askedBy = ({ askedBy: asker }: Step): string => {
  if (asker === undefined) return '';
  const { via, user, uid, manager } = asker;
  if (via === 'schedule') return ', by schedule';
  if (user !== undefined || uid !== undefined) return `, requested by user ${user ?? uid}`;
  return manager === undefined ? `, requested by ${via}` : `, requested by ${manager} (${via})`;
};

/** "[5 shown: 3 probed, 2 restarted; 1 assumed: 1 settled]". */
const evidence = ({ counts = {} }: Step): string => {
  const groups = (['shown', 'assumed', 'notNeeded', 'none'] as const).flatMap((stands) => {
    const kinds = Object.entries(counts).filter(([kind]) => standsOn(kind) === stands);
    if (kinds.length === 0) return [];
    const sum = kinds.reduce((total, [, count]) => total + count, 0);
    const all = kinds.map(([kind, count]) => `${count} ${kind}`).join(', ');
    return [`${sum} ${STANDS_WORDS[stands]}${stands === 'none' ? '' : `: ${all}`}`];
  });
  return groups.length === 0 ? '' : ` [${groups.join('; ')}]`;
};

const WHAT = {
  mint: 'created',
  activate: 'started to sign with',
  retire: 'retired',
  drop: 'dropped',
  distrust: 'distrusted',
  'distrust-done': 'forgot',
} as const satisfies Record<Step['step'], string>;

/** The steps of the last rotation or distrust, as lines. */
const lastRotation = (history: readonly Step[] = []): readonly string[] => {
  const begun = history.findLastIndex(({ step }) => step === 'mint' || step === 'distrust');
  const steps = history.slice(Math.max(begun, 0)).slice(-MOST_STEPS);
  const [first] = steps;
  if (first === undefined) return [];
  const name = first.rotation === undefined ? '' : ` ${first.rotation}`;
  return [
    `  last change${name}${askedBy(first)}`,
    ...steps.map(
      (step) =>
        `    ${step.at}  ${WHAT[step.step]} CA ${step.generations.length === 1 ? 'generation' : 'generations'} ${step.generations.join(', ')}: ${step.why}${evidence(step)}`,
    ),
  ];
};

const SHOWN = 10;

const more = <T>(items: readonly T[], line: (item: T) => string | readonly string[]): readonly string[] => [
  ...items.slice(0, SHOWN).flatMap(line),
  ...(items.length > SHOWN ? [`    … and ${items.length - SHOWN} more (--json shows all)`] : []),
];

const paint = (text: string, code: number, colours: boolean): string =>
  colours ? `\u001b[${code}m${text}\u001b[0m` : text;

/** On a live terminal the time left; elsewhere the moment itself, which does not change from call to call. */
const dueLine = ({ blockedBy, dueAt }: AuthorityStatus, now: Instant | undefined): readonly string[] => {
  if (blockedBy.length === 0 || dueAt === null) return [];
  return [`  due ${now === undefined ? `at ${dueAt}` : `in ${timeLeft(Date.parse(dueAt) - now)}`}`];
};

const hookText = (hook: HookStatus, colours: boolean): string =>
  paint(hookLine(hook), hook.state === 'failed' ? 31 : 0, colours && hook.state === 'failed');

const consumerLines = (
  { name, evidence: by, stands, at, remark, shows }: ConsumerStatus,
  colours: boolean,
): readonly string[] => {
  const [worst] = shows;
  const since = at === null ? '' : ` at ${at}`;
  const first = `  consumer ${name}  ${paint(stands === 'assumed' ? `assumed (${by})` : (by ?? 'no evidence yet'), 33, colours && stands === 'assumed')}${since}${remark === undefined ? '' : `; ${remark}`}`;
  if (worst === undefined) return [first];
  const instance = worst.instance === name ? '' : `${worst.instance} `;
  const others = shows.length > 1 ? `; ${shows.length - 1} more (--json shows all)` : '';
  const text = `${instance}${worst.text}, since ${worst.since}${others}`;
  return [first, `    ${worst.wrong ? paint(text, 31, colours) : text}`];
};

const authorityLines = (
  authority: AuthorityStatus,
  colours: boolean,
  now: Instant | undefined,
): readonly string[] => {
  const { phase, generations, blockedBy, leaves, consumers, notes, expiring, ready, notReady, hooks } =
    authority;
  const short = (text: string | null | undefined): string => text?.slice(0, 12) ?? '-';
  return [
    `${authority.namespace}/${authority.name}  ${paint(phase, phase === 'Stable' ? 32 : 33, colours)}${
      expiring === null ? '' : `  ${paint(expiring, expiring === 'Critical' ? 31 : 33, colours)}`
    }${ready ? '' : `  ${paint('not ready', 31, colours)}`}`,
    ...more(notReady, (problem) => `  not ready: ${problem}`),
    ...generations.map(
      ({ generation, role, fingerprint, notAfter }) =>
        `  CA generation ${generation}  ${role}  ${short(fingerprint)}  until ${notAfter}`,
    ),
    ...more(waitGroups(blockedBy), ({ phrase, since }) => `  ${phrase} (since ${since})`),
    ...dueLine(authority, now),
    ...more(notes, (note) => `  ${note}`),
    `  ${amount(leaves.length, 'leaf', 'leaves')}`,
    ...more(leaves, (leaf) =>
      leaf.refused === undefined
        ? `    ${leaf.namespace}/${leaf.name}  CA generation ${leaf.generation ?? '-'}  ${short(leaf.fingerprint)}  until ${leaf.notAfter ?? '-'}`
        : `    ${leaf.namespace}/${leaf.name}  ${paint('refused', 31, colours)}: ${leaf.refused}`,
    ),
    ...(consumers.length === 0 ? [] : [`  consumers: ${evidenceText(authority.evidence)}`]),
    ...more(consumers, (consumer) => consumerLines(consumer, colours)),
    ...restsText(authority.restsOnTime, { atRest: phase === 'Stable' }).map((phrase) => `  ${phrase}`),
    ...more(hooks, (hook) => `  ${hookText(hook, colours)}`),
    ...lastRotation(authority.history),
  ];
};

/** The status as text. With `now` it counts times down. */
export const showStatus = (given: Status, colours: boolean, now?: Instant): string => {
  // Names and messages come from others: colours are the only escapes.
  const status = printableIn(given);
  const lines = [
    ...status.authorities.flatMap((authority) => authorityLines(authority, colours, now)),
    ...more(status.unusable, (one) => paint(unusableLine(one), 31, colours)),
    ...status.trustBundles.flatMap(({ name, targets, hook }) => [
      `trust bundle ${name}`,
      ...more(targets, ({ object, certificates }) => `    ${object}  ${amount(certificates, 'certificate')}`),
      ...(hook === null ? [] : [`    ${hookText(hook, colours)}`]),
    ]),
    ...status.tlsProfiles.flatMap(({ namespace, name, type, written, problems }) => [
      `TLS profile ${namespace}/${name}  ${type}${written ? '' : '  not written'}`,
      ...problems.map((problem) => `    ${problem}`),
    ]),
    ...more(status.run?.problems ?? [], ({ code, message, since }) =>
      paint(`${code}: ${message} (since ${since})`, 31, colours),
    ),
    ...more(status.remarks, (remark) => remark),
  ];
  return lines.map((line) => `${line}\n`).join('');
};
