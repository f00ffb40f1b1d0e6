const UNITS = [
  [365 * 86_400_000, 'y'],
  [86_400_000, 'd'],
  [3_600_000, 'h'],
  [60_000, 'min'],
  [1_000, 's'],
] as const;

/** A length of time as one number: `3 s`, `4 min`, `12 d`, `4.9 y`. */
export const durationWords = (ms: number): string => {
  const size = Math.max(0, ms);
  for (const [unit, name] of UNITS) {
    if (size < unit) continue;
    const amount = size / unit;
    return `${name === 'y' && amount < 10 ? Math.floor(amount * 10) / 10 : Math.floor(amount)} ${name}`;
  }
  return '0 s';
};

const two = (value: number): string => String(value).padStart(2, '0');

/** The time of day; with its date if that is not today's. */
export const momentOf = (at: number, now: number): string => {
  const date = new Date(at);
  const time = `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`;
  return new Date(now).toDateString() === date.toDateString() ? time : `${dayOf(at)} ${time.slice(0, 5)}`;
};

export const dayOf = (at: number): string => {
  const date = new Date(at);
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
};

/** Thousands separated by a narrow no-break space. */
export const counted = (value: number): string => String(value).replace(/\B(?=(?:\d{3})+$)/g, '\u202f');

/** `gateway` for `demo/secrets/gateway`; the whole name is in the title. */
export const shortName = (name: string): string => {
  const object = /^readers of (.*)$/.exec(name)?.[1];
  if (object !== undefined) return `readers of ${shortName(object)}`;
  return /^[^/]+\/(?:secrets|configmaps)\/([^/]+)/.exec(name)?.[1] ?? name;
};

/** `a, b and 3 more`. */
export const few = (names: readonly string[], most: number): string => {
  const shown = names.slice(0, most);
  const more = names.length - shown.length;
  if (more > 0) return `${shown.join(', ')} and ${counted(more)} more`;
  const last = shown.at(-1) ?? '';
  return shown.length < 2 ? last : `${shown.slice(0, -1).join(', ')} and ${last}`;
};
