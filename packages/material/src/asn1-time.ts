import { type DerReader, TAG } from './der.ts';
import { type Instant, instant } from './time.ts';

const DIGITS = /^(\d{2}|\d{4})(\d{2})(\d{2})(\d{2})(\d{2})(\d{2})Z$/;

/** Reads a Time in one of the two forms that RFC 5280 §4.1.2.5 allows: UTC, to the second. */
export function readTime(from: DerReader): Instant {
  const tag = from.peek();
  if (tag !== TAG.utcTime && tag !== TAG.generalizedTime) from.fail('time expected');
  const content = from.element();
  const length = content.end - content.at;
  const match = length === (tag === TAG.utcTime ? 13 : 15) ? DIGITS.exec(content.latin1()) : null;
  if (match === null) return content.fail('time that is not YYMMDDHHMMSSZ or YYYYMMDDHHMMSSZ');
  const [year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0] = match.slice(1).map(Number);
  // 00–49 is 20xx, 50–99 is 19xx: RFC 5280 §4.1.2.5.1
  const fullYear = tag === TAG.generalizedTime ? year : year + (year < 50 ? 2000 : 1900);
  const date = new Date(0);
  date.setUTCFullYear(fullYear, month - 1, day); // Date.UTC would move the years 0–99 into the twentieth century
  date.setUTCHours(hour, minute, second);
  const real =
    date.getUTCFullYear() === fullYear &&
    date.getUTCMonth() === month - 1 &&
    date.getUTCDate() === day &&
    hour < 24 &&
    minute < 60 &&
    second < 60;
  if (!real) content.fail('time that does not exist');
  return instant(date.getTime());
}
