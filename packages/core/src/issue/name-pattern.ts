/** Stands for the namespace of the Leaf. */
const NAMESPACE = '{namespace}';

interface Fit {
  /** What stands where the pattern has its `*`; empty: the pattern has none. */
  readonly filled: string;
  readonly before: string;
  readonly after: string;
}

/**
 * The schema lets one `*` pass at most, so a match is two comparisons and one walk over the rest. No regular expression is made
 * from what a user wrote: `*a*a*a*b` as one took minutes on a name of 60 letters.
 */
const fit = (pattern: string, namespace: string, name: string): Fit | undefined => {
  const parts = pattern.split('*').map((part) => part.replaceAll(NAMESPACE, namespace));
  const [before = '', after] = parts;
  if (after === undefined) return name === before ? { filled: '', before, after: '' } : undefined;
  const filled = name.slice(before.length, name.length - after.length);
  const fits =
    parts.length === 2 &&
    name.length > before.length + after.length &&
    name.startsWith(before) &&
    name.endsWith(after);
  return fits ? { filled, before, after } : undefined;
};

const LABEL = /^[A-Za-z0-9_-]*$/;
const SEGMENT = /^[A-Za-z0-9_.~-]*$/;
const DOTS = /^\.+$/;

/** DNS names have no case. A wildcard as the Leaf's first label needs a pattern whose whole first label is `*`. */
export const matchesDnsPattern = (pattern: string, namespace: string, name: string): boolean => {
  const found = fit(pattern.toLowerCase(), namespace, name.toLowerCase());
  if (found === undefined) return false;
  const wholeFirstLabel = found.before === '' && (found.after === '' || found.after.startsWith('.'));
  return LABEL.test(found.filled) || (found.filled === '*' && wholeFirstLabel);
};

/** `*` stays within a label of the host, or within a segment of the path and never makes it `.` or `..`. */
export const matchesUriPattern = (pattern: string, namespace: string, uri: string): boolean => {
  const found = fit(pattern, namespace, uri);
  if (found === undefined || DOTS.test(found.filled)) return false;
  const inHost = /^[^:]*:\/\/[^/?#]*$/.test(found.before);
  return (inHost ? LABEL : SEGMENT).test(found.filled);
};

/** For common names and organizations: `*` stands for letters, digits, - and _, so it crosses no dot, colon or space. */
export const matchesTextPattern = (pattern: string, namespace: string, text: string): boolean => {
  const found = fit(pattern, namespace, text);
  return found !== undefined && LABEL.test(found.filled);
};
